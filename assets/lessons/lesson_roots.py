"""Rules that find the roots which four lessons speak of. Nothing is named by hand: what fits best is taken."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from recorded import SOURCES, Chosen, Found, Recorded, Root, all_roots, request_number

#: Fewest accepted tokens that show what a tree is for, and fewest of the pass before it.
MIN_LONG, MIN_SHORT = 4, 2
#: How far the confidence of two rows has to be apart, and what at most may be left of the unsure one's weight.
MIN_CONFIDENCE_GAP, MAX_WEIGHT_LEFT = 0.3, 0.8


def long_pass(traces: Sequence[Recorded]) -> Chosen | None:
    """Two passes in a row: one that accepts a few tokens, then one whose all-first-choice chain is accepted far.

    All three memories have a row at the second root; of several the one that writes most words, then the first.
    """
    found = []
    for recorded in traces:
        roots = recorded.roots()
        for short, long, following in zip(roots, roots[1:], roots[2:], strict=False):
            accepted = long.iteration.accepted
            is_chain = accepted == tuple(range(1, len(accepted) + 1))
            is_searched = all(long.iteration.detail.nodes[index].origin == "fusion" for index in accepted)
            is_example = len(short.iteration.accepted) >= MIN_SHORT and short.is_open
            is_long = len(accepted) >= MIN_LONG and is_chain and is_searched
            if is_long and is_example and long.is_open and set(long.rows) == set(SOURCES):
                found.append({"short": short, "long": long, "next": following})
    if not found:
        return None
    places = max(found, key=lambda item: item["long"].num_words)
    short, long = places["short"], places["long"]
    nodes, accepted = long.iteration.detail.nodes, long.iteration.accepted
    facts = {
        "short": len(short.iteration.accepted),
        "short_written": short.num_written,
        "root": long.form(long.node.token_id),
        "guesses": len(nodes) - 1,
        "positions": len(nodes),
        "half": len(accepted) // 2,
        "accepted": len(accepted),
        "written": long.num_written,
        "last": long.form(nodes[accepted[-1]].token_id),
        "selected": long.form(long.iteration.target_selected_id),
    }
    return Chosen(places, facts)


def aliased_root(roots: Iterable[Root]) -> Chosen | None:
    """The root that shows best how one key serves two contexts.

    U's first choice is wrong, that of C or G is the target's, and so is the mixture's. Better are, in this order: the
    word "her", a row of U that this very run wrote, two sure rows.
    """
    found = []
    for root in roots:
        right = next((root.rows[source] for source in SOURCES[:2] if root.is_right(source)), None)
        if right is None or "U" not in root.rows or root.is_right("U"):
            continue
        if root.is_first_choice_right and root.iteration.accepted:
            found.append((root, right))
    return None if not found else _told(*max(found, key=lambda pair: _aliasing_merit(*pair)))


def is_about_her(root: Root) -> bool:
    """Whether the root is the word that the grammar of dressed people puts into two contexts."""
    return root.form(root.node.token_id).strip("·") == "her"


def _aliasing_merit(root: Root, right: Found) -> tuple[bool, bool, float]:
    return is_about_her(root), _writer(root) is not None, root.rows["U"].probability * right.probability


def _told(root: Root, right: Found) -> Chosen:
    wrong, writer = root.rows["U"], _writer(root)
    places = {"root": root}
    facts = {
        "root": root.form(root.node.token_id),
        "source": right.found.source,
        "key": root.form(*right.found.key_ids),
        "key_length": len(right.found.key_ids),
        "wrong": root.form(wrong.first_id),
        "wrong_probability": wrong.probability,
        "wrong_weight": wrong.found.weight,
        "right": root.form(right.first_id),
        "right_probability": right.probability,
        "right_weight": right.found.weight,
        "written": root.num_written,
    }
    if writer is not None:
        pass_index, node, context_ids = writer
        places["writer"] = root.recorded.roots()[pass_index - 1]
        facts |= {
            "writer": 1,
            "writer_pass": pass_index,
            "writer_node": node,
            "writer_context": root.form(*context_ids),
        }
    return Chosen(places, facts)


def _writer(root: Root) -> tuple[int, int, tuple[int, ...]] | None:
    """Which pass of this run wrote U's row, at which node, behind which three tokens; None if no pass of it did."""
    found = root.rows["U"]
    if found.row.written_in_request != request_number(root.run) or not found.row.written_in_pass:
        return None
    writes = root.run.iterations[found.row.written_in_pass - 1].detail.writes
    node = next(write.node for write in writes if write.row == found.found.row)
    keys = (write.key_ids for write in writes if write.map == "G" and write.node == node)
    return next(((found.row.written_in_pass, node, key_ids) for key_ids in keys), None)


def differing_sources(traces: Sequence[Recorded], taken: Sequence[Root]) -> Chosen | None:
    """A run where U has a row most often, G is right most often where it has one, and the mixture beats U; two roots.

    At one U alone has a row and helps, at the other all three have one and G is right against U. Better are, in this
    order: another root than those taken, guesses that can be read at both (a lone space cannot).
    """

    def are_words(root: Root) -> bool:
        return all(any(map(str.isalnum, root.form(row.first_id))) for row in root.rows.values())

    found = []
    for recorded in traces:
        roots = recorded.roots()
        num_found = Counter(source for root in roots for source in root.rows)
        num_right = Counter(source for root in roots for source in root.rows if root.is_right(source))
        if not num_found["U"] > num_found["C"] >= num_found["G"] > 0:
            continue
        num_right["mixed"] = sum(root.is_first_choice_right for root in roots)
        if num_right["mixed"] <= num_right["U"]:
            continue
        lead = num_right["G"] / num_found["G"] - num_right["U"] / num_found["U"]
        alone = [root for root in roots if set(root.rows) == {"U"} and root.is_right("U") and root.is_open]
        deciding = [
            root
            for root in roots
            if set(root.rows) == set(SOURCES) and root.is_right("G") and not root.is_right("U")
            if root.is_first_choice_right and root.is_open
        ]
        if lead > 0 and alone and deciding:
            root = max(deciding, key=lambda root: (root not in taken, are_words(root), root.num_written))
            first = max(alone, key=lambda root: (are_words(root), root.num_written))
            merit = (root not in taken, are_words(root) and are_words(first), lead)
            found.append((merit, {"alone": first, "root": root}, num_found, num_right, len(roots)))
    if not found:
        return None
    _, places, num_found, num_right, num_roots = max(found, key=lambda item: item[0])
    alone, root = places["alone"], places["root"]
    facts: dict[str, str | int | float] = {
        "alone": alone.form(alone.node.token_id),
        "alone_first": alone.form(alone.rows["U"].first_id),
        "alone_written": alone.num_written,
        "root": root.form(root.node.token_id),
        "roots": num_roots,
        "right_mixed": num_right["mixed"],
    }
    for source in SOURCES:
        facts |= {
            f"first_{source.lower()}": root.form(root.rows[source].first_id),
            f"weight_{source.lower()}": root.rows[source].found.weight,
            f"found_{source.lower()}": num_found[source],
            f"right_{source.lower()}": num_right[source],
        }
    return Chosen(places, facts)


def confident_root(traces: Sequence[Recorded], taken: Sequence[Root]) -> Chosen | None:
    """The root at which confidence takes most from a row.

    Better are, in this order: rows that differ in their first choice, a more specific row that comes to count less than
    another by it, a root that is not taken yet.
    """
    found = []
    for root in all_roots(traces):
        rows = sorted(root.rows.values(), key=lambda item: item.found.confidence)
        if len(rows) < 2 or rows[-1].first_id != root.node.greedy_id:
            continue
        unsure, sure = rows[0], rows[-1]
        share = unsure.found.prior / sum(row.found.prior for row in rows)
        is_apart = sure.found.confidence - unsure.found.confidence >= MIN_CONFIDENCE_GAP
        if not is_apart or unsure.found.weight > MAX_WEIGHT_LEFT * share:
            continue
        merit = (
            sure.first_id != unsure.first_id,
            bool(_overtaking(unsure, rows)),
            root not in taken,
            share - unsure.found.weight,
        )
        found.append((merit, share, root, unsure, sure))
    if not found:
        return None
    (*_, fall), share, root, unsure, sure = max(found, key=lambda item: item[0])
    products = (
        f"{source} {row.found.prior:.2f} × {row.found.confidence:.2f} ="
        f" {row.found.prior * row.found.confidence:.3f}"
        for source, row in root.rows.items()
    )
    facts = {
        "root": root.form(root.node.token_id),
        "sure": sure.found.source,
        "unsure": unsure.found.source,
        "products": ", ".join(products),
        "share": share,
        "other": min(share + fall, 1.0),
        "first": root.form(root.node.kept_ids[0]),
        "written": root.num_written,
        "overtaking": _overtaking(unsure, list(root.rows.values())),
    }
    for name, row in (("sure", sure), ("unsure", unsure)):
        facts |= {
            f"{name}_first": root.form(row.first_id),
            f"{name}_probability": row.probability,
            f"{name}_confidence": row.found.confidence,
            f"{name}_weight": row.found.weight,
        }
    return Chosen({"root": root}, facts)


def _overtaking(unsure: Found, rows: Sequence[Found]) -> str:
    """The source of a less specific row that weighs more than the unsure one; empty if there is none."""
    overtaking = (
        row.found
        for row in rows
        if row.found.prior < unsure.found.prior and row.found.weight > unsure.found.weight
    )
    return next((found.source for found in overtaking), "")
