"""What NetworkX asks when it is imported. This file imports nothing else of the package."""

from __future__ import annotations

import os
from typing import Any

WEIGHTS = "`weight` names an attribute of integers or floats that are not negative. "
ANY_PATH = "Of several shortest paths, another one may be found. "
STORED = "Of stored graphs, whose neighbours come by ascending ids; without `sort_neighbors`. "
PART = "As a graph of NetworkX; not of one with attributes. "

FUNCTIONS = {
    "all_pairs_dijkstra": WEIGHTS + ANY_PATH,
    "all_pairs_dijkstra_path": WEIGHTS + ANY_PATH,
    "all_pairs_dijkstra_path_length": WEIGHTS,
    "all_pairs_shortest_path": ANY_PATH,
    "all_pairs_shortest_path_length": "",
    "ancestors": "",
    "average_clustering": "Undirected, without `weight`.",
    "average_shortest_path_length": "Without `weight`.",
    "bellman_ford_path_length": WEIGHTS,
    "betweenness_centrality": "Without `weight` and `endpoints`; `k` sources are those of "
    "NetworkX.",
    "bfs_edges": STORED,
    "bfs_layers": "The order within a layer is not that of NetworkX.",
    "bfs_predecessors": STORED,
    "bfs_successors": STORED,
    "bfs_tree": STORED,
    "bidirectional_dijkstra": WEIGHTS + ANY_PATH,
    "bidirectional_shortest_path": ANY_PATH,
    "center": "Without `e`, `usebounds` and `weight`; by the order of the nodes.",
    "closeness_centrality": "Without `distance`.",
    "clustering": "Undirected, without `weight`.",
    "connected_components": "",
    "core_number": "",
    "degree_centrality": "",
    "descendants": "",
    "descendants_at_distance": "",
    "dfs_edges": STORED + "Without `depth_limit`, with `source`.",
    "dfs_postorder_nodes": STORED + "Without `depth_limit`, with `source`.",
    "dfs_predecessors": STORED + "Without `depth_limit`, with `source`.",
    "dfs_preorder_nodes": STORED + "Without `depth_limit`, with `source`.",
    "dfs_successors": STORED + "Without `depth_limit`, with `source`.",
    "dfs_tree": STORED + "Without `depth_limit`, with `source`.",
    "diameter": "Without `e`, `usebounds` and `weight`.",
    "dijkstra_path": WEIGHTS + ANY_PATH,
    "dijkstra_path_length": WEIGHTS,
    "eccentricity": "Without `sp` and `weight`.",
    "ego_graph": PART + "Without `distance`; of a directed graph without `undirected`.",
    "harmonic_centrality": "Without `distance`.",
    "has_path": "",
    "in_degree_centrality": "",
    "is_arborescence": "",
    "is_branching": "",
    "is_connected": "",
    "is_directed_acyclic_graph": "",
    "is_empty": "",
    "is_eulerian": "",
    "is_forest": "",
    "is_isolate": "",
    "is_k_regular": "",
    "is_regular": "",
    "is_strongly_connected": "",
    "is_tree": "",
    "is_weakly_connected": "",
    "isolates": "",
    "jaccard_coefficient": "With `ebunch`, a collection of pairs.",
    "k_core": PART + "Without `core_number`.",
    "k_corona": PART + "Without `core_number`.",
    "k_crust": PART + "Without `core_number`.",
    "k_shell": PART + "Without `core_number`.",
    "maximal_independent_set": "Without `nodes`; of the same seed another set.",
    "multi_source_dijkstra": WEIGHTS + ANY_PATH,
    "multi_source_dijkstra_path": WEIGHTS + ANY_PATH,
    "multi_source_dijkstra_path_length": WEIGHTS,
    "node_connected_component": "",
    "number_connected_components": "",
    "number_of_isolates": "",
    "number_of_selfloops": "",
    "number_strongly_connected_components": "",
    "number_weakly_connected_components": "",
    "out_degree_centrality": "",
    "pagerank": WEIGHTS + "Without `nstart` and `dangling`; the values of `personalization` are at "
    "least 0.",
    "periphery": "Without `e`, `usebounds` and `weight`.",
    "radius": "Without `e`, `usebounds` and `weight`.",
    "shortest_path": "Weights with the method `dijkstra`, and not to a target of a directed graph. "
    + ANY_PATH,
    "shortest_path_length": "Weights not to a target of a directed graph.",
    "single_source_bellman_ford_path_length": WEIGHTS,
    "single_source_dijkstra": WEIGHTS + ANY_PATH,
    "single_source_dijkstra_path": WEIGHTS + ANY_PATH,
    "single_source_dijkstra_path_length": WEIGHTS,
    "single_source_shortest_path": ANY_PATH,
    "single_source_shortest_path_length": "",
    "single_target_shortest_path": ANY_PATH,
    "single_target_shortest_path_length": "",
    "strongly_connected_components": "The components come by their first node.",
    "transitivity": "Undirected.",
    "triangles": "",
    "weakly_connected_components": "",
}
"""The functions that the backend has, and what of each."""

DEFAULT_CONFIG: dict[str, Any] = {"memory": None, "directory": None, "min_edges": 100_000}
"""`memory`: the budget of a conversion and of a run, such as `"4GiB"` [the library's own].
`directory`: folder of the temporary graph files of conversions [that of the system].
`min_edges`: graphs of NetworkX with fewer edges are not converted, unless `backend="cenote"` says
so."""


AUTOMATIC = "NX_CENOTE_AUTOCONFIG"
"""The variable of the environment that puts the backend in `nx.config.backend_priority`."""

PRIORITIES = ("NETWORKX_BACKEND_PRIORITY", "NETWORKX_BACKEND_PRIORITY_ALGOS")
"""What NetworkX itself reads. One that is set stands."""


def configure() -> None:
    """Has NetworkX, which reads its variables afterwards, try the backend first."""
    is_wanted = os.environ.get(AUTOMATIC, "").strip().lower() in ("1", "true")
    is_set = any(name in os.environ for name in (*PRIORITIES, "NETWORKX_AUTOMATIC_BACKENDS"))
    if is_wanted and not is_set:
        os.environ[PRIORITIES[0]] = "cenote"


def get_info() -> dict[str, Any]:
    """The description of the backend for NetworkX."""
    configure()
    return {
        "backend_name": "cenote",
        "project": "nx-cenote",
        "package": "nx_cenote",
        "short_summary": "Algorithms on stored graphs, within a memory budget.",
        "default_config": dict(DEFAULT_CONFIG),
        "functions": {
            name: {"additional_docs": note.strip()} if note else {}
            for name, note in FUNCTIONS.items()
        },
    }


def table() -> str:
    """The table of functions in `docs/python.md`."""
    rows = [f"| `{name}` | {note.strip()} |" for name, note in FUNCTIONS.items()]
    return "\n".join(["| function | what of it, if not all |", "|---|---|", *rows]) + "\n"
