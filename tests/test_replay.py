"""Replay: a recorded run done again from its trace alone, and its figures against slow counting."""

from __future__ import annotations

import json
import random
from collections import Counter
from dataclasses import replace

import numpy as np
import oracles
import pytest
from oracles import scaled
from scripted_runs import known_scores, random_request, random_target

from recap.config import RecapConfig
from recap.drafters import RecapDrafter, make_drafter
from recap.engine import generate
from recap.errors import TraceError
from recap.memory import Memories
from recap.recorder import Recorder
from recap.recording import RecordedRun, build_trace, run_settings
from recap.replay import __main__ as command_line
from recap.replay import report
from recap.replay.counts import POLICIES, count_states
from recap.replay.passes import replay_passes
from recap.replay.prompt_seeded import count_seeded_states
from recap.replay.report import Ratios, build_report, count_run, find_run
from recap.replay.trajectory import read_trajectory, recorded_config
from recap.targets.base import Request
from recap.targets.scripted import ScriptedTarget, random_scores
from recap.trace_io import dump_trace, parse_trace, save_trace
from recap.tree import pack

METHODS = (
    *("recap@63", "recap@5", "recap@0", "recap-fixed@20", "recap-budget-31", "recap-no-suffix@12"),
    *("recap-uniform@16", "recap-unigram@16", "recap-hard-gate@30", "recap-soft-priors@9"),
)


def recorded(target, request, method, memories=None):
    """A trace of one run, through its JSON."""
    run = RecordedRun(target, request, method, memories)
    for _ in run:
        pass
    return parse_trace(dump_trace(build_trace(target, request, "what is it", [run.run()])))


def random_traces(rng, method, num_requests=3):
    """Requests of one stream: from the second one on, U holds rows from before."""
    vocab_size = rng.choice((6, 12, 40))
    target = random_target(rng, vocab_size)
    memories = Memories(vocab_size)
    return [recorded(target, random_request(rng, vocab_size), method, memories) for _ in range(num_requests)]


def disputed_trace(seed):
    """Of a text that depends on three tokens, so that the rows found under one, two and three disagree."""
    target = ScriptedTarget(12, known_scores(12, 3, seed))
    return recorded(target, Request(np.arange(12) % 5, 28), "recap@8")


@pytest.mark.parametrize("method", METHODS)
def test_a_replayed_pass_has_the_tree_and_the_acceptance_of_the_live_one(method):
    rng = random.Random(method)
    num_passes = 0
    for _ in range(scaled(40, at_least=4)):
        for trace in random_traces(rng, method):
            run = trace.runs[0]
            config = recorded_config(run)
            assert config == make_drafter(method, 6).config
            for replayed in replay_passes(read_trajectory(trace, run), run, config):
                assert replayed.is_same_tree(), (method, replayed.iteration.index)
                assert replayed.num_accepted == len(replayed.iteration.accepted)
                num_passes += 1
    assert num_passes > scaled(40)


class ClockedDrafter(RecapDrafter):
    """Chooses a budget and the copy for each pass, as a clock would: by nothing that a trace holds."""

    def draft(self, history):
        tree = self.search(history, random.Random(len(history)).choice((0, 1, 2, 7, 20)))
        is_copied = len(tree[0]) > 1 and len(history) % 2
        return pack(*(self.builder.with_suffix(tree, self.suffix_continuation()) if is_copied else tree))


def test_a_run_that_chose_its_budgets_by_the_clock_replays_with_those_it_chose():
    rng = random.Random(12)
    num_passes = 0
    for _ in range(scaled(40, at_least=4)):
        target, request = random_target(rng, 12), random_request(rng, 12)
        drafter = ClockedDrafter(RecapConfig(follows_cost=True), Memories(12), target.blocked_ids)
        settings = run_settings(drafter, request, target.blocked_ids)
        name = rng.choice(("recap@auto", "recap"))  # a benchmark names it without its budget
        recorder = Recorder(drafter, name, "recap", settings, target.environment)
        for _ in generate(target, drafter, request, recorder=recorder):
            pass
        trace = build_trace(target, request, "what is it", [recorder.run()])
        passes = build_report([trace])["passes"]
        if passes["num_passes"]:
            assert passes["same_tree"]["value"] == passes["same_accepted_length"]["value"] == 1.0
        num_passes += passes["num_passes"]
    assert num_passes > 0


def test_a_folder_of_traces_is_read_one_at_a_time(tmp_path, monkeypatch):
    """A benchmark's traces together are larger than memories: each is counted before the next one is read."""
    traces = random_traces(random.Random(6), "recap@8")
    for index, trace in enumerate(traces):
        save_trace(trace, tmp_path / f"{index}.json")
    log = []
    for owner, name in ((command_line, "load_trace"), (report, "count_run")):
        original = getattr(owner, name)
        monkeypatch.setattr(
            owner, name, lambda *given, name=name, original=original: (log.append(name), original(*given))[1]
        )
    out = tmp_path / "figures" / "out.json"
    out.parent.mkdir()
    assert command_line.main([str(tmp_path), "--json", str(out)]) == 0
    assert log == ["load_trace", "count_run"] * len(traces)
    assert json.loads(out.read_text()) == json.loads(json.dumps(build_report(traces)))


def test_without_the_rows_carried_in_a_replay_would_not_come_out_the_same(monkeypatch):
    """The check can fail: rows of earlier requests matter, and are in the trace."""
    rng = random.Random(4)
    traces = [trace for _ in range(5) for trace in random_traces(rng, "recap@30")[1:]]
    assert all(
        p["value"] == 1.0
        for p in (build_report(traces)["passes"][k] for k in ("same_tree", "same_accepted_length"))
    )
    monkeypatch.setattr("recap.replay.passes.carried_rows", lambda run: [])
    assert build_report(traces)["passes"]["same_tree"]["value"] < 1


def test_other_methods_and_fallbacks_are_counted_but_not_replayed():
    rng = random.Random(5)
    target = random_target(rng, 12)
    trace = recorded(target, random_request(rng, 12), "recap-recency@8")
    passes = build_report([trace])["passes"]
    assert passes["num_passes"] == len(trace.runs[0].iterations)
    assert passes["num_replayed"] == 0
    assert passes["same_tree"]["value"] is None


# --- figures against slow counting


def slow_states(trace, seeds=None):
    """(history, what was written after it, a look-up of rows) of every state.

    A row is that of the latest earlier state with the same last tokens, or else that of `seeds`, by token.
    """
    trajectory = read_trajectory(trace, trace.runs[0])
    prompt = list(trace.request.prompt_ids)
    output = trajectory.history[len(prompt) :].tolist()
    for state in range(len(output) - 1):

        def look_up(context, state=state):
            found = []
            for source, length in oracles.KEY_LENGTHS.items():
                key = oracles.last_tokens(context, length)
                for earlier in reversed(range(state)):
                    before = prompt + output[: earlier + 1]
                    if key is not None and oracles.last_tokens(before, length) == key:
                        row = trajectory.rows[earlier]
                        found.append((source, oracles.Row(row.token_ids, row.probabilities, row.confidence)))
                        break
                else:
                    if source == "U" and seeds and context[-1] in seeds:
                        found.append((source, seeds[context[-1]]))
            return found

        yield prompt + output[: state + 1], output[state + 1 :], look_up


def longest_match(paths, ahead):
    """Tokens of `ahead` that a tree of these paths holds from its root on."""
    return next(n for n in range(len(ahead), -1, -1) if n == 0 or tuple(ahead[:n]) in paths)


def slow_counts(trace):
    """Every state counted anew; trees by the oracle's search."""
    trajectory = read_trajectory(trace, trace.runs[0])
    counts = Counter(stand_ins=trajectory.num_stand_ins)
    for history, ahead, look_up in slow_states(trace):
        found = look_up(history)
        counts["own/states"] += 1
        for source, row in found:
            counts[f"own/{source}/covered"] += 1
            counts[f"own/{source}/hit"] += ahead[0] in row.token_ids
        kept = {source: list(row.token_ids) for source, row in found}
        trees = {}
        for name, (sources, rule, priors) in POLICIES.items():

            def expand(context, sources=sources, rule=rule, priors=priors, look_up=look_up):
                return oracles.fuse([pair for pair in look_up(context) if pair[0] in sources], rule, priors)

            kept[name] = [token for token, _ in expand(history)]
            counts[f"rule/{name}/hit"] += ahead[0] in kept[name]
            rules = oracles.SearchRules(blocked_ids=trajectory.blocked_ids)
            trees[name] = oracles.best_first_tree(history, expand, rules)[0]
        if len({row.token_ids[0] for _, row in found}) > 1:
            counts["disputed"] += 1
            counts.update(f"disputed/{source}" for source, _ in found)
            for name, token_ids in kept.items():
                counts[f"disputed/{name}/hit1"] += ahead[0] in token_ids[:1]
                counts[f"disputed/{name}/hit8"] += ahead[0] in token_ids
        smallest = min(map(len, trees.values()))
        counts["nodes"] += smallest
        for name, paths in trees.items():
            counts[f"matched/{name}"] += longest_match({path.token_ids for path in paths[:smallest]}, ahead)
    for name in POLICIES:
        counts[f"rule/{name}/gain"] = counts[f"rule/{name}/hit"] - counts["rule/no-confidence/hit"]
    return counts


def slow_seeded_counts(trace, target):
    """As `slow_counts`, of what is counted where U starts with the rows that the target predicts along the prompt."""
    prompt = list(trace.request.prompt_ids)
    seeds = {}
    for position, token in enumerate(prompt):
        if token not in target.blocked_ids:
            seeds.setdefault(token, oracles.prediction_row(target._next_scores(prompt[: position + 1])))
    counts = Counter()
    for history, ahead, look_up in slow_states(trace, seeds):
        rows = dict(look_up(history))
        hits = {source: ahead[0] in row.token_ids for source, row in rows.items()}
        if {"U", "G"} <= set(hits):
            counts.update({"both": 1, "both/G/hit": hits["G"], "both/U/hit": hits["U"]})
            counts["both/gain"] += hits["G"] - hits["U"]
        for name, (sources, rule, priors) in POLICIES.items():
            used = [(source, row) for source, row in look_up(history) if source in sources]
            counts[f"rule/{name}/hit"] += ahead[0] in dict(oracles.fuse(used, rule, priors))
        counts["disputed"] += len({row.token_ids[0] for row in rows.values()}) > 1

        def expand(context, look_up=look_up):
            return oracles.fuse(look_up(context), "no-confidence")

        rules = oracles.SearchRules(blocked_ids=target.blocked_ids)
        paths = oracles.best_first_tree(history, expand, rules)[0]
        copied = oracles.suffix_continuation(history, target.blocked_ids)[:14]
        # The largest search that leaves room for what is copied, at no more nodes than fusion alone has.
        for kept in range(len(paths), -1, -1):
            both = oracles.pack_tree(history[-1], paths[:kept], copied, min(4, len(paths)))
            if len(both) <= 1 + len(paths):
                break
        with_suffix = {()}
        chains = [()]
        for token, parent in zip(both.token_ids[1:], both.parents[1:], strict=True):
            chains.append((*chains[parent], token))
            with_suffix.add(chains[-1])
        lengths = [longest_match(known, ahead) for known in ({p.token_ids for p in paths}, with_suffix)]
        counts.update(
            {
                "suffix/nodes": len(paths),
                "matched/fusion": lengths[0],
                "matched/suffix": lengths[1],
                "suffix/gain": lengths[1] - lengths[0],
                "suffix/new_first": lengths[0] == 0 < lengths[1],
            }
        )
    for name in POLICIES:
        counts[f"rule/{name}/gain"] = counts[f"rule/{name}/hit"] - counts["rule/no-confidence/hit"]
    return counts


def test_counts_of_states_equal_slow_counting():
    rng = random.Random(6)
    num_disputed = 0
    traces = [
        random_traces(rng, rng.choice(("recap@8", "recap@0")), num_requests=1)[0] for _ in range(scaled(20))
    ]
    for trace in [*traces, *map(disputed_trace, range(scaled(5, at_least=2)))]:
        ours = count_states(read_trajectory(trace, trace.runs[0]))
        expected = slow_counts(trace)
        for hit in ("hit1", "hit8"):
            gain = expected[f"disputed/recap/{hit}"] - expected[f"disputed/hard-gate/{hit}"]
            expected[f"disputed/gain/{hit}"] = gain
        names = set(ours) | set(expected)
        assert {n: ours[n] for n in names} == {n: expected[n] for n in names}
        num_disputed += ours["disputed"]
    assert num_disputed > 0


def test_counts_with_a_seeded_u_equal_slow_counting():
    """Also that a copy may help and harm at equal nodes, as both have to have been met."""
    rng = random.Random(16)
    gains = Counter()
    for case in range(scaled(60, at_least=12)):
        vocab_size = rng.choice((6, 12, 40))
        if case % 2:
            target, request = random_target(rng, vocab_size), random_request(rng, vocab_size)
        else:
            # A text that goes round, predicted with little confidence: trees are wide, and a copy reaches deeper.
            scores = [0.1 * (np.arange(40) == (token + 1) % 7) for token in range(40)]
            target = ScriptedTarget(40, lambda history, s=scores: s[history[-1]], blocked_ids=[39])
            request = Request(np.array([1, 2, 3, 4, 5, 1, 2, 3, 4, 1, 2]), 10 + case)
        trace = recorded(target, request, "recap@0")
        trajectory = read_trajectory(trace, trace.runs[0])
        ours = {
            name.removeprefix("seeded/"): count
            for name, count in count_seeded_states(trajectory, trace.runs[0]).items()
        }
        expected = slow_seeded_counts(trace, target)
        names = {name for name in {*ours, *expected} if not name.startswith("disputed/")}
        assert {n: ours.get(n, 0) for n in names} == {n: expected[n] for n in names}
        gains.update({"more": ours.get("suffix/gain", 0) > 0, "both": ours.get("both", 0)})
    assert gains["more"] > 0
    assert gains["both"] > 0


def test_the_seeded_section_holds_ratios_of_its_counts_and_paired_gains():
    traces = [disputed_trace(seed) for seed in range(6)]
    seeded = build_report(traces)["prompt_seeded"]
    rules = seeded["rules"]
    assert rules["no-confidence"]["over_no_confidence"]["value"] == 0
    for figures in rules.values():
        assert figures["over_no_confidence"]["value"] == pytest.approx(
            figures["all_query_recall_at_8"]["value"]
            - rules["no-confidence"]["all_query_recall_at_8"]["value"]
        )
    suffix = seeded["suffix"]
    assert suffix["gain"]["value"] == pytest.approx(
        suffix["fusion_and_suffix"]["value"] - suffix["fusion"]["value"]
    )
    both = seeded["trigram_over_unigram"]
    assert both["gain"]["value"] == pytest.approx(both["G"]["value"] - both["U"]["value"])


def test_the_gain_where_sources_disagree_is_a_paired_difference():
    disputed = build_report([disputed_trace(seed) for seed in range(8)])["disputed"]
    assert disputed["recap_over_hard_gate"]["recall_at_8"]["value"] != 0
    for k in ("recall_at_1", "recall_at_8"):
        gain = disputed["recap_over_hard_gate"][k]
        assert gain["value"] == pytest.approx(
            disputed["recap"][k]["value"] - disputed["hard-gate"][k]["value"]
        )


def test_states_are_the_committed_tokens_and_hold_the_rows_predicted_there():
    """On a target whose scores are known: the row of a state is the target's after exactly that history."""
    rng = random.Random(7)
    for _ in range(scaled(20)):
        scores = random_scores(12, 4, rng.randrange(9))
        target = ScriptedTarget(12, scores)
        trace = recorded(target, random_request(rng, 12), "recap@20")
        trajectory = read_trajectory(trace, trace.runs[0])
        num_off = 0
        for state, row in enumerate(trajectory.rows):
            expected = oracles.prediction_row(scores(trajectory.history_at(state).tolist()))
            num_off += row.token_ids != expected.token_ids
            assert len(trajectory.continuation_at(state)) == len(trajectory.rows) - state
        assert num_off <= trajectory.num_stand_ins
    one_node = recorded(target, Request(np.array([3, 1, 3, 1, 3, 1]), 25), "recap@0")
    assert read_trajectory(one_node, one_node.runs[0]).num_stand_ins == 0


def test_memories_as_the_run_had_them_are_the_oracles():
    rng = random.Random(8)
    for _ in range(scaled(20)):
        vocab_size = 12
        target = random_target(rng, vocab_size)
        request = random_request(rng, vocab_size)
        trace = recorded(target, request, "recap@10")
        rules = oracles.SearchRules(max_nodes=10, blocked_ids=target.blocked_ids)
        passes = oracles.recap_passes(
            lambda history, target=target: target._next_scores(history),
            oracles.prediction_row,
            oracles.DictMemories(),
            request.prompt_ids.tolist(),
            request.max_new_tokens,
            target.end_ids,
            rules=rules,
        )
        counts = Counter()
        history = [*trace.request.prompt_ids, trace.runs[0].prefill.first_token_id]
        for one in passes:
            for token in one.cut.committed_ids:
                counts["run/states"] += 1
                for source, row in one.memories_before.lookup(history):
                    counts[f"run/{source}/covered"] += 1
                    counts[f"run/{source}/hit"] += token in row.token_ids
                history.append(token)
        ours = count_run(trace, trace.runs[0])
        assert {n: v for n, v in ours.items() if n.startswith("run/") and v} == {
            n: v for n, v in counts.items() if v
        }


def test_mean_weights_are_those_of_the_recorded_nodes():
    rng = random.Random(9)
    traces = [trace for _ in range(8) for trace in random_traces(rng, "recap@30")]
    nodes = [node for t in traces for it in t.runs[0].iterations for node in it.detail.nodes]
    weights = build_report(traces)["weights"]
    for number in (2, 3):
        calls = [
            [found.weight for found in node.retrieved] for node in nodes if len(node.retrieved) == number
        ]
        assert weights[str(number)]["calls"] == len(calls)
        assert weights[str(number)]["mean"] == pytest.approx(np.mean(calls, axis=0).tolist())


# --- intervals


def test_an_interval_resamples_pictures_and_holds_the_value():
    ratio = Ratios([Counter(hit=h, all=10) for h in (1, 2, 3, 4, 5, 6, 7, 8, 9)])("hit", "all")
    assert ratio["value"] == 0.5
    # The mean of nine draws has standard error sqrt(60 / 9 / 9) / 10; a 95 % interval spans about four of them.
    assert ratio["high"] - ratio["low"] == pytest.approx(4 * np.sqrt(60 / 81) / 10, rel=0.1)


def test_one_picture_has_no_interval_and_nothing_counted_no_value():
    ratios = Ratios([Counter(hit=1, all=4)])
    assert ratios("hit", "all") == {"value": 0.25, "low": None, "high": None}
    assert ratios("hit", "none") == {"value": None, "low": None, "high": None}


# --- the command and bad input


@pytest.fixture
def folder(tmp_path):
    for index, trace in enumerate(random_traces(random.Random(10), "recap@20")):
        save_trace(trace, tmp_path / f"{index}.json")
    return tmp_path


def test_the_command_reads_files_and_folders_and_writes_strict_json(folder, tmp_path_factory, capsys):
    out = tmp_path_factory.mktemp("out") / "replay.json"
    assert command_line.main([str(folder), "--json", str(out)]) == 0
    report = json.loads(out.read_text("utf-8"))
    assert report["kind"] == "replay"
    assert report["num_traces"] == 3
    assert "the same accepted length in 100.0%" in capsys.readouterr().out
    assert command_line.main([str(folder / "0.json"), "--run", "recap@20", "--json", str(out)]) == 0


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["{folder}/none.json", "--json", "{folder}/x.json"], "cannot be read"),
        (["{folder}", "--run", "sam", "--json", "{folder}/x.json"], "no run 'sam'"),
        (["{folder}", "--json", "/no/such/folder/x.json"], "does not exist"),
        (["{folder}", "--json", "{folder}"], "is a folder"),
        (["{folder}/empty", "--json", "{folder}/x.json"], "no trace in"),
    ],
)
def test_a_known_error_is_one_sentence_and_exit_code_two(folder, capsys, arguments, sentence):
    (folder / "empty").mkdir()
    assert command_line.main([a.format(folder=folder) for a in arguments]) == 2
    assert sentence in capsys.readouterr().err


def test_runs_that_cannot_be_replayed_are_refused(folder):
    trace = random_traces(random.Random(11), "recap@4", 1)[0]
    run = trace.runs[0]
    bare = replace(run, iterations=tuple(replace(it, detail=None) for it in run.iterations))
    with pytest.raises(TraceError, match="not recorded node by node"):
        read_trajectory(trace, bare)
    first = run.iterations[0]
    silent = replace(run, iterations=(replace(first, detail=replace(first.detail, writes=())),))
    with pytest.raises(TraceError, match="no row for the state"):
        read_trajectory(trace, replace(silent, finished=None))
    with pytest.raises(TraceError, match="no run"):
        find_run(replace(trace, runs=(replace(run, rows=()),)), None)
    with pytest.raises(TraceError, match="cannot be used"):
        recorded_config(replace(run, settings=(*run.settings, ("max_nodes", "-1"))))
    huge = replace(trace, request=replace(trace.request, prompt_ids=(1 << 22, *trace.request.prompt_ids[1:])))
    with pytest.raises(TraceError, match="Token ids must be below"):
        read_trajectory(huge, run)


def test_the_teaching_model_s_passes_replay_as_they_were(teaching_target):
    memories = Memories(teaching_target.vocab_size)
    traces = []
    for question in ("Describe the picture.", "Say it again in other words.", "Describe the picture."):
        request = teaching_target.build_request(None, question, max_new_tokens=40)
        traces.append(recorded(teaching_target, request, "recap@63", memories))
    passes = build_report(traces)["passes"]
    assert passes["num_replayed"] == sum(len(trace.runs[0].iterations) for trace in traces)
    assert passes["same_tree"]["value"] == passes["same_accepted_length"]["value"] == 1.0


def test_ctrl_c_is_told_and_leaves_no_report(tmp_path, monkeypatch, capsys):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    folder, out = tmp_path / "traces", tmp_path / "report.json"
    folder.mkdir()
    (folder / "0.json").touch()
    monkeypatch.setattr(command_line, "load_trace", interrupted)
    assert command_line.main([str(folder), "--json", str(out)]) == 130
    assert capsys.readouterr().err.strip() == "Stopped."
    assert not out.exists()
