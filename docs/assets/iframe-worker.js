// Search from the folder: browsers start no worker on file://, so its script runs in a hidden frame
// that takes and sends the same messages. On a server nothing of this is used.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(address) {
      super()
      const frame = document.createElement("iframe")
      frame.hidden = true
      document.body.append(frame)
      const own = frame.contentWindow
      own.document.open()
      own.document.write("<!doctype html><html><body></body></html>")
      own.document.close()
      this.waiting = []
      this.own = own
      // What the worker's script calls: its messages come to this object's listeners.
      own.postMessage = (data) => {
        const event = new MessageEvent("message", { data })
        this.dispatchEvent(event)
        if (this.onmessage) this.onmessage(event)
      }
      own.importScripts = (...addresses) =>
        addresses.reduce((before, next) => before.then(() => this.load(next)), Promise.resolve())
      this.load(address).then(() => {
        this.loaded = true
        this.waiting.splice(0).forEach((data) => this.deliver(data))
      })
    }

    load(address) {
      return new Promise((resolve, reject) => {
        const script = this.own.document.createElement("script")
        script.src = new URL(address, location.href).href
        script.onload = resolve
        script.onerror = () => reject(new Error(`${script.src} cannot be read`))
        this.own.document.body.append(script)
      })
    }

    postMessage(data) {
      this.loaded ? this.deliver(data) : this.waiting.push(data)
    }

    deliver(data) {
      this.own.dispatchEvent(new this.own.MessageEvent("message", { data }))
    }

    terminate() {
      this.own.frameElement.remove()
    }
  }
}
