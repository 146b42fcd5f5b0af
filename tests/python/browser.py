"""A headless Chromium for tests, over the pipe of its DevTools protocol."""

import base64
import fcntl
import json
import os
import shutil

FLAGS = [
    "--headless=new",
    "--no-sandbox",  # root in a container has none
    "--disable-gpu",
    "--disable-quic",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-extensions",
    "--no-first-run",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
]


def chromium() -> str | None:
    """The path of the browser, if there is one."""
    return shutil.which("chromium") or shutil.which("chromium-browser")


class Page:
    """A page of a browser that it owns."""

    def __init__(self, folder):
        read, self._commands = os.pipe()
        self._answers, write = os.pipe()
        # The browser reads commands from descriptor 3 and writes answers to 4. The pipes' own
        # descriptors are moved away from these first.
        ends = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in (read, write)]
        null = (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0)
        moves = [(os.POSIX_SPAWN_DUP2, end, place) for place, end in enumerate(ends, 3)]
        command = [chromium(), *FLAGS, f"--user-data-dir={folder}", "about:blank"]
        self._process = os.posix_spawn(
            command[0], command, os.environ, file_actions=[null, *moves], setpgroup=0
        )
        for end in [read, write, *ends]:
            os.close(end)
        self._last, self._rest, self._session, self.events = 0, b"", None, []
        target = self("Target.createTarget", url="about:blank")["targetId"]
        attached = self("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ["Page", "Runtime", "Log", "Network"]:
            self(f"{domain}.enable")

    def __call__(self, method, **params):
        """The result of a command; what happens meanwhile is added to `events`."""
        self._last += 1
        message = {"id": self._last, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._commands, json.dumps(message).encode() + b"\0")
        while True:
            found = self._next()
            if found.get("id") == self._last:
                assert "error" not in found, (method, found)
                return found["result"]
            self.events.append(found)

    def _next(self):
        while b"\0" not in self._rest:
            part = os.read(self._answers, 1 << 20)
            assert part, "the browser ended"
            self._rest += part
        first, self._rest = self._rest.split(b"\0", 1)
        return json.loads(first)

    def show(self, path, width, scheme):
        """Opens a file in a window of this width, in the `light` or `dark` scheme."""
        self.events.clear()
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
        self("Emulation.setDeviceMetricsOverride", **size)
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self("Emulation.setEmulatedMedia", features=features)
        self("Page.navigate", url=path.resolve().as_uri())
        while not any(event.get("method") == "Page.loadEventFired" for event in self.events):
            self.events.append(self._next())

    def evaluate(self, script):
        """The value of an expression in the page."""
        found = self("Runtime.evaluate", expression=script, returnByValue=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def screenshot(self, path, **options):
        """Writes a picture of the whole page as PNG."""
        found = self("Page.captureScreenshot", captureBeyondViewport=True, **options)
        path.write_bytes(base64.b64decode(found["data"]))

    def close(self):
        """Ends the browser."""
        self._session = None
        try:
            self("Browser.close")
        finally:
            # It reads the end of its commands, and ends.
            os.close(self._commands)
            os.close(self._answers)
            os.waitpid(self._process, 0)
