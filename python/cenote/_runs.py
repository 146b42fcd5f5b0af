"""The algorithms that are no searches: a method each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from . import _options, _results
from ._options import PathLike, RunOptions, VertexId, VertexIds, VertexPairs, given, split
from ._searches import Searches
from .errors import InvalidInput

if TYPE_CHECKING:
    from collections.abc import Mapping

    from typing_extensions import Unpack


class Runs(Searches):
    """The algorithms of a graph."""

    def betweenness(
        self,
        source: VertexIds | None = None,
        *,
        sources_file: PathLike | None = None,
        samples: int | None = None,
        seed: int = 1,
        scale: Literal["sum", "full", "normalized"] = "sum",
        **options: Unpack[RunOptions],
    ) -> _results.Betweenness:
        """Betweenness centrality from sources, or from `samples` random vertices.

        Args:
            source: ids [the vertex of largest degree].
            sources_file: a file of ids, one a line.
            samples, seed: search from so many random vertices instead.
            scale: `"full"` and `"normalized"` are NetworkX's `betweenness_centrality` with
                `normalized=False` and `True`, estimated from the sources.
            options: see `RunOptions`.

        Raises:
            UnknownVertex: there is no vertex of an id.
            Unsupported: the graph is directed and was imported without `in_edges`.

        Example:
            >>> g.betweenness(["bash", "apt"], memory="64MiB").summary["sources"]
            2
        """
        own = given(source=source, sources_file=sources_file, samples=samples, scale=scale)
        own = _options.sampled(own | {"seed": seed})
        return _results.Betweenness(self._run("betweenness", options, **own))

    def cdlp(self, *, iterations: int = 10, **options: Unpack[RunOptions]) -> _results.Communities:
        """Communities by label propagation, as LDBC Graphalytics defines it.

        Args:
            iterations: the most; fewer if nothing changes any more.
            options: see `RunOptions`.

        Raises:
            Unsupported: the graph is directed and was imported without `in_edges`.

        Example:
            >>> g.cdlp(iterations=3).communities > 1
            True
        """
        return _results.Communities(self._run("cdlp", options, iterations=iterations))

    def degrees(self, **options: Unpack[RunOptions]) -> _results.Degrees:
        """Degrees: the number of edges of every vertex.

        `Graph.degree` returns those of given vertices, or of one direction.

        Example:
            >>> g.degrees().degrees.sum() == 2 * g.edge_count
            np.True_
        """
        return _results.Degrees(self._run("degrees", options))

    def kcore(self, *, k: int | None = None, **options: Unpack[RunOptions]) -> _results.Kcore:
        """Core numbers, or with `k` the members of that k-core alone.

        Raises:
            Unsupported: the graph is directed and was imported without `in_edges`.

        Example:
            >>> g.kcore().summary["degeneracy"] == g.kcore().cores.max()
            np.True_
        """
        return _results.Kcore(self._run("kcore", options, k=k))

    def hyperball(
        self,
        *,
        registers: int = 64,
        iterations: int | None = None,
        seed: int = 0,
        outgoing: bool = False,
        **options: Unpack[RunOptions],
    ) -> _results.Hyperball:
        """Neighbourhood function, effective diameter and distance centralities, estimated.

        Distances on a directed graph are those towards a vertex, as NetworkX takes them.
        `summary["error"]` is the relative standard deviation of the number of vertices within a
        distance of a vertex.

        Args:
            registers: of a counter, a power of two from 16 to 4096; four times as many halve the
                error.
            iterations: the most; distances beyond are not counted [until no counter grows].
            seed: of the hashes of ids.
            outgoing: take distances from a vertex to others instead.
            options: see `RunOptions`.

        Raises:
            InvalidInput: `registers` is out of range.

        Example:
            >>> balls = g.hyperball(memory="64MiB")
            >>> 1 < balls.average_distance < balls.effective_diameter < 20
            True
        """
        own = given(registers=registers, iterations=iterations, seed=seed, outgoing=outgoing)
        return _results.Hyperball(self._run("hyperball", options, **own))

    def lcc(self, **options: Unpack[RunOptions]) -> _results.Lcc:
        """Local clustering coefficient of every vertex.

        Raises:
            Unsupported: the graph is directed and was imported without `in_edges`.

        Example:
            >>> 0 < g.lcc().summary["mean"] < 1
            True
        """
        return _results.Lcc(self._run("lcc", options))

    def leiden(
        self, *, resolution: float = 1.0, iterations: int = 3, **options: Unpack[RunOptions]
    ) -> _results.ModularityCommunities:
        """Communities of high modularity by the Leiden algorithm: each of them is connected.

        Args:
            resolution: above 0; with larger ones communities are smaller.
            iterations: the most; fewer if two in a row gain nothing.
            options: see `RunOptions`.

        Raises:
            Unsupported: the graph is directed.
            MemoryBudget: the graph between communities does not fit; the message names a
                budget that suffices.

        Example:
            >>> with cenote.open("friends.cenote") as friends:
            ...     found = friends.leiden()
            >>> found.communities, round(found.modularity, 2)
            (1, 0.0)
        """
        own = given(resolution=resolution, iterations=iterations)
        return _results.ModularityCommunities(self._run("leiden", options, **own))

    def louvain(
        self, *, resolution: float = 1.0, iterations: int = 3, **options: Unpack[RunOptions]
    ) -> _results.ModularityCommunities:
        """Communities of high modularity by the Louvain algorithm.

        Args:
            resolution: above 0; with larger ones communities are smaller.
            iterations: the most; fewer if two in a row gain nothing.
            options: see `RunOptions`.

        Raises:
            Unsupported: the graph is directed.
            MemoryBudget: the graph between communities does not fit; the message names a
                budget that suffices.

        Example:
            >>> with cenote.open("friends.cenote") as friends:
            ...     found = friends.louvain(resolution=0.5)
            >>> found.communities
            1
        """
        own = given(resolution=resolution, iterations=iterations)
        return _results.ModularityCommunities(self._run("louvain", options, **own))

    def mis(self, *, seed: int = 1, **options: Unpack[RunOptions]) -> _results.Mis:
        """A maximal independent set, which `seed` chooses.

        Example:
            >>> chosen = g.mis(seed=7)
            >>> chosen.size == chosen.members.sum()
            np.True_
        """
        return _results.Mis(self._run("mis", options, seed=seed))

    def msf(self, **options: Unpack[RunOptions]) -> _results.Msf:
        """A minimum spanning forest of an undirected graph; an edge without a weight weighs 1.

        The answer is a table of edges: `source`, `target`, `weight`, by ascending ids.

        Raises:
            Unsupported: the graph is directed.

        Example:
            >>> with cenote.open("friends.cenote") as friends:
            ...     forest = friends.msf()
            >>> forest.to_arrow().to_pylist()[0]
            {'source': 'ada', 'target': 'bob', 'weight': 1}
        """
        return _results.Msf(self._run("msf", options))

    def pagerank(
        self,
        *,
        iterations: int | None = None,
        tolerance: float | None = None,
        damping: float = 0.85,
        personalize: VertexIds | Mapping[VertexId, float] | None = None,
        personalize_file: PathLike | None = None,
        weighted: bool = False,
        variant: Literal["standard", "cave"] = "standard",
        **options: Unpack[RunOptions],
    ) -> _results.PageRank:
        """PageRank by power iteration.

        Args:
            iterations: the most [10, with a tolerance 1000].
            tolerance: stop when the ranks change by less, summed over all vertices.
            damping: probability to follow an edge.
            personalize, personalize_file: ids to start at and return to, or weights by id.
            weighted: follow an edge in proportion to its weight.
            variant: the definition; `"cave"` is that of the CAVE paper.
            options: see `RunOptions`.

        Raises:
            InvalidInput: weights that are negative, or whose sum is out of range.
            Unsupported: `weighted` on a graph without weights.

        Example:
            >>> bool(abs(g.pagerank(tolerance=1e-6).ranks.sum() - 1) < 1e-6)
            True
        """
        own = given(
            iterations=iterations,
            tolerance=tolerance,
            damping=damping,
            personalize=personalize,
            personalize_file=personalize_file,
            weighted=weighted,
            variant=variant,
        )
        return _results.PageRank(self._run("pagerank", options, **own))

    def ppr(
        self,
        seeds: VertexIds | None = None,
        *,
        seeds_file: PathLike | None = None,
        top_k: int = 10,
        damping: float = 0.85,
        tolerance: float = 1e-5,
        **options: Unpack[RunOptions],
    ) -> _results.Ppr:
        """Personalised PageRank of many seeds side by side: the highest ranks of each.

        The answer is a table of `seed`, `vertex`, `rank`. No rank is above the exact one;
        `summary["error_max"]` is the most by which any is below it.

        Args:
            seeds: ids [the vertex of largest degree].
            seeds_file: a file of ids, one a line.
            top_k: vertices of highest rank for each seed.
            damping: probability to follow an edge.
            tolerance: on an undirected graph, a rank is too low by at most this times the degree of
                its vertex. A smaller one takes longer, and more memory.
            options: see `RunOptions`.

        Raises:
            UnknownVertex: there is no vertex of an id.

        Example:
            >>> near = g.ppr(["bash", "apt"], top_k=3, memory="256MiB")
            >>> near.to_arrow()["vertex"].to_pylist()[0]
            'apt'
            >>> len(near)
            6
        """
        own = given(
            seeds=seeds, seeds_file=seeds_file, top_k=top_k, damping=damping, tolerance=tolerance
        )
        return _results.Ppr(self._run("ppr", options, **own))

    def scc(self, **options: Unpack[RunOptions]) -> _results.Components:
        """Strongly connected components.

        Example:
            >>> g.scc().components >= g.wcc().components
            True
        """
        return _results.Components(self._run("scc", options))

    def similar(
        self,
        sources: VertexIds | None = None,
        *,
        pairs: VertexPairs | None = None,
        sources_file: PathLike | None = None,
        pairs_file: PathLike | None = None,
        measure: Literal["jaccard", "overlap", "adamic_adar", "common"] = "jaccard",
        top: int | None = None,
        **options: Unpack[RunOptions],
    ) -> _results.Similar:
        """Similarity by common neighbours: of pairs, or the most similar vertices of sources.

        The answer is a table of `source`, `target`, `score`: the pairs in the given order, or for
        each source the most similar ones of all that have a neighbour in common with it.

        Args:
            sources: ids [the vertex of largest degree, without pairs].
            pairs: pairs of ids, such as an array or a table with two columns, instead of sources.
            sources_file: a file of ids, one a line.
            pairs_file: a file of pairs, two ids a line.
            measure: the share of their neighbours that are common ones, of all (`jaccard`) or of
                those of the vertex of smaller degree (`overlap`); or their number (`common`), of
                which `adamic_adar` counts those of many edges less.
            top: most similar vertices of each source [10].
            options: see `RunOptions`.

        Raises:
            UnknownVertex: there is no vertex of an id.
            InvalidInput: options that exclude each other, such as `pairs` and `top`.
            Unsupported: the graph is directed and was imported without `in_edges`.

        Example:
            >>> near = g.similar("bash", top=3)
            >>> len(near), bool(near.scores[0] >= near.scores[1] >= near.scores[2] > 0)
            (3, True)
            >>> g.similar(pairs=[("bash", "apt")], measure="common").scores.tolist()
            [1.0]
        """
        own = given(
            sources=sources,
            pairs=pairs,
            sources_file=sources_file,
            pairs_file=pairs_file,
            measure=measure,
            top=top,
        )
        return _results.Similar(self._run("similar", options, **own))

    def triangles(
        self, *, per_vertex: bool = False, **options: Unpack[RunOptions]
    ) -> _results.Triangles:
        """Triangles of the graph and, with `per_vertex`, of each vertex.

        Raises:
            Unsupported: the graph is directed and was imported without `in_edges`.

        Example:
            >>> found = g.triangles(per_vertex=True)
            >>> found.counts.sum() == 3 * found.triangles
            np.True_
        """
        return _results.Triangles(self._run("triangles", options, per_vertex=per_vertex))

    def walk(
        self,
        *,
        out: PathLike | None = None,
        starts: Literal["all", "random"] | None = None,
        starts_file: PathLike | None = None,
        source: VertexId | None = None,
        walkers: int | None = None,
        per_vertex: int | None = None,
        steps: int = 10,
        restart: float = 0.0,
        p: float = 1.0,
        q: float = 1.0,
        dead_ends: Literal["end", "restart"] = "end",
        weighted: bool = False,
        seed: int = 1,
        **options: Unpack[RunOptions],
    ) -> _results.Walks:
        """Random walks: uniform, node2vec, with restart.

        Args:
            out: the file of the walks, one a row: `.txt`, `.txt.zst`, `.parquet` or `.npy`.
            starts, starts_file, source: where walks start [all vertices]; one of them.
            walkers: how many walks [one from each start]; `per_vertex`: how many from each start.
            steps: of each walk.
            restart: probability of going back to the start.
            p, q: of node2vec.
            dead_ends: what a walk does at a vertex without an out-neighbour.
            weighted: choose neighbours in proportion to the weights of the edges.
            seed: of the random numbers: the same seed, the same walks.
            options: see `RunOptions`.

        Raises:
            UnknownVertex: there is no vertex of an id.
            InvalidInput: another ending of `out`, or options that exclude each other.
            Unsupported: `weighted` on a graph without weights.

        Example:
            >>> g.walk(source="bash", walkers=100, steps=5, out="walks.parquet").summary["walkers"]
            100
        """
        own = given(
            out=out,
            starts=starts,
            starts_file=starts_file,
            source=source,
            walkers=walkers,
            per_vertex=per_vertex,
            steps=steps,
            restart=restart,
            p=p,
            q=q,
            dead_ends=dead_ends,
            weighted=weighted,
            seed=seed,
        )
        return _results.Walks(self._run("walk", options, **own))

    def wcc(
        self,
        *,
        since: _results.Components | None = None,
        since_file: PathLike | None = None,
        **options: Unpack[RunOptions],
    ) -> _results.Components:
        """Weakly connected components.

        Args:
            since: the answer for an earlier state of the graph: if edges were only added since,
                only the pages of lists that changed are read.
            since_file: the file of such an answer, that `to_parquet` has written. If the state that
                it belongs to is not kept, as that of a graph opened `at` a snapshot is, everything
                is computed, and `summary["everything_because"]` says why.
            options: see `RunOptions`.

        Raises:
            InvalidInput: both of `since` and `since_file`, or a file that is no such answer.

        Example:
            >>> components = g.wcc()
            >>> components.components
            201
            >>> ids = components.ids()
            >>> ids[components.labels[g.vertex_of("bash")]]
            '0ad'
            >>> size = components.to_parquet("components.parquet")
            >>> g.wcc(since_file="components.parquet").summary["since"]["pages_read"]
            0
        """
        if since is not None and since_file is not None:
            raise InvalidInput("since and since_file are both earlier answers: give one of them")
        own, progress = split(options)
        common = given(since_file=since_file) | own
        earlier = None if since is None else since._native
        chosen = _options.quoted("wcc", common)
        return _results.Components(self._native.run("wcc", chosen, earlier, progress))
