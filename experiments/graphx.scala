// GraphX's PageRank and connected components, for spark_bench.py: `spark-shell -i`. Settings are in
// the environment; it prints a line of JSON for each measurement.

import org.apache.spark.graphx._
import org.apache.spark.storage.StorageLevel

val path = sys.env("EDGES")
val iterations = sys.env("ITERATIONS").toInt
val parts = sys.env("PARTS").toInt

def timed[T](name: String)(work: => T): T = {
  val start = System.nanoTime
  val found = work
  println(s"""MEASURED {"name": "$name", "seconds": ${(System.nanoTime - start) / 1e9}}""")
  found
}

// An undirected edge is an edge each way.
val graph = timed("load") {
  val edges = sc.textFile(path, parts).flatMap { line =>
    val at = line.indexOf('\t')
    val (a, b) = (line.substring(0, at).toLong, line.substring(at + 1).toLong)
    Iterator(Edge(a, b, 1), Edge(b, a, 1))
  }
  val level = StorageLevel.MEMORY_AND_DISK
  val loaded = Graph.fromEdges(edges, 1, level, level).partitionBy(PartitionStrategy.EdgePartition2D)
  loaded.cache()
  println(s"edges ${loaded.edges.count} vertices ${loaded.vertices.count}")
  loaded
}
timed("pagerank") {
  val ranks = graph.staticPageRank(iterations).vertices
  println("sum " + ranks.map(_._2).sum)
}
timed("wcc") {
  val labels = graph.connectedComponents().vertices
  println("components " + labels.map(_._2).distinct.count)
}
sys.exit(0)
