"""One question diagnosed: RECAP's answer, read again in front of a mean picture and of another one."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from PIL import Image

from recap.counterfactual.diagnosis import (
    Root,
    by_accepted_length,
    by_relative_support,
    compare_row_pictures,
    count_row_pictures,
    diagnose_roots,
)
from recap.counterfactual.teacher_forcing import fit_picture, force_text, mean_picture
from recap.errors import InputError
from recap.metrics import output_ids
from recap.recording import RecordedRun, build_trace
from recap.replay.counts import Counts
from recap.replay.trajectory import read_trajectory
from recap.targets.transformers_vlm import TransformersTarget


@dataclass(frozen=True, slots=True, eq=False)
class Diagnosis:
    """What one answer owes to its picture.

    Attributes:
        question, answer: as text.
        num_passes, num_states: passes of the run, and tokens of the answer but the first one.
        roots: of the passes whose root's choice the reading in front of the own picture confirms.
        row_counts: see `count_row_pictures`.
    """

    question: str
    answer: str
    num_passes: int
    num_states: int
    roots: tuple[Root, ...]
    row_counts: Counts

    def record(self) -> dict[str, Any]:
        """The question's own part of a report, ready for JSON."""
        return {
            "question": self.question,
            "answer": self.answer,
            "num_passes": self.num_passes,
            "num_states": self.num_states,
            "roots": [asdict(root) for root in self.roots],
        }


def diagnose(
    target: TransformersTarget,
    image: Image.Image,
    question: str,
    other: Image.Image,
    max_new_tokens: int = 200,
) -> Diagnosis:
    """Answer with RECAP, read the answer again in front of three pictures, and compare.

    Raises:
        InputError: a question that cannot be asked, or an answer too short to have a pass.
    """
    pictures = (image, mean_picture(image), fit_picture(other, image.size))
    requests = [target.build_request(picture, question, max_new_tokens) for picture in pictures]
    recorded = RecordedRun(target, requests[0], "recap")
    for _ in recorded:
        pass
    run = recorded.run()
    ids = output_ids(run)
    if len(ids) < 2:
        raise InputError("The answer has one token only: there is no pass to look at.")
    full, mean, wrong = (force_text(target, request, ids) for request in requests)
    trajectory = read_trajectory(build_trace(target, requests[0], question, [run]), run)
    return Diagnosis(
        question,
        target.tokenizer.decode(ids, skip_special_tokens=True),
        len(run.iterations),
        len(trajectory.rows),
        tuple(diagnose_roots(trajectory, run, full, mean, wrong)),
        count_row_pictures(trajectory, full, wrong),
    )


def single_report(target: TransformersTarget, diagnosis: Diagnosis) -> dict[str, Any]:
    """The report of one question, ready for JSON."""
    return {
        "schema": 1,
        "kind": "counterfactual",
        "model": target.name,
        **diagnosis.record(),
        "by_accepted_length": by_accepted_length(diagnosis.roots),
        "by_relative_support": by_relative_support(diagnosis.roots),
        "row_pictures": compare_row_pictures(diagnosis.row_counts),
    }
