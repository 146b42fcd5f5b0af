"""Loses one of two nodes while a run goes on.

`test_faults.py` starts it with the folder of a sharded graph: Ray is once a process.
"""

import logging
import sys
import warnings

import numpy as np
import ray
from ray.cluster_utils import Cluster

import cenote
import cenote.ray


def main(folder):
    warnings.simplefilter("ignore")
    cluster = Cluster(
        initialize_head=True, head_node_args={"num_cpus": 4, "object_store_memory": 80 << 20}
    )
    node = cluster.add_node(num_cpus=4, object_store_memory=80 << 20)
    ray.init(address=cluster.address, log_to_driver=False, logging_level=logging.ERROR)
    with cenote.ray.open(folder, memory="32MiB") as graph:
        expected = graph.pagerank(iterations=60)["rank"]

        def lose(progress):
            if progress.done == 9 and node in cluster.list_all_nodes():
                cluster.remove_node(node, allow_graceful=False)

        found = graph.pagerank(iterations=60, progress=lose, checkpoint_every=4)
        assert np.array_equal(found["rank"], expected)
        assert graph.wcc().to_arrow().num_rows == graph.vertex_count
        print("equal,", found.stats.restarts, "restarts")
    ray.shutdown()
    cluster.shutdown()


if __name__ == "__main__":
    main(sys.argv[1])
