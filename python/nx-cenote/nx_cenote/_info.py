"""What NetworkX asks when it is imported. This file imports nothing else of the package."""

from __future__ import annotations

from typing import Any

FUNCTIONS = {
    "ancestors": "",
    "average_clustering": "Undirected, without `weight`.",
    "betweenness_centrality": "Of all sources: without `k`, `weight` and `endpoints`.",
    "bfs_layers": "The order within a layer is not that of NetworkX.",
    "clustering": "Undirected, without `weight`.",
    "connected_components": "",
    "core_number": "",
    "degree_centrality": "",
    "descendants": "",
    "descendants_at_distance": "",
    "has_path": "",
    "in_degree_centrality": "",
    "is_connected": "",
    "is_strongly_connected": "",
    "is_weakly_connected": "",
    "node_connected_component": "",
    "number_connected_components": "",
    "number_strongly_connected_components": "",
    "number_weakly_connected_components": "",
    "out_degree_centrality": "",
    "pagerank": "Without weights, `nstart` and `dangling`; the nodes of `personalization` have "
    "equal values.",
    "shortest_path_length": "With a source or a target; weights as in "
    "`single_source_dijkstra_path_length`.",
    "single_source_dijkstra_path_length": "`weight` names an attribute of integers or floats that "
    "are not negative.",
    "single_source_shortest_path_length": "",
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


def get_info() -> dict[str, Any]:
    """The description of the backend for NetworkX."""
    return {
        "backend_name": "cenote",
        "project": "nx-cenote",
        "package": "nx_cenote",
        "short_summary": "Algorithms on stored graphs, within a memory budget.",
        "default_config": dict(DEFAULT_CONFIG),
        "functions": {
            name: {"additional_docs": note} if note else {} for name, note in FUNCTIONS.items()
        },
    }


def table() -> str:
    """The table of functions in `docs/python.md`."""
    rows = [f"| `{name}` | {note} |" for name, note in FUNCTIONS.items()]
    return "\n".join(["| function | what of it, if not all |", "|---|---|", *rows]) + "\n"
