"""Every English text of the page, in one place, so that it can be translated."""

from __future__ import annotations

from collections.abc import Sequence

TITLE = "RECAP"
SUBTITLE = "Watch a vision-language model decode faster by recycling its own predictions"
PAGE_TITLE = f"{TITLE} · {SUBTITLE}"

# Header
RECORDED_LABEL = "Recorded run or lesson"
RECORDED_RUNS_LABEL = "Recorded runs"
LESSONS_LABEL = "Lessons"
LIVE_OPTION = "Your run"
UPLOADED_OPTION = "Opened trace"
REPORT_OPTION = "Opened report"
TRY_BUTTON = "Try yours"
CLOSE_BUTTON = "Close"
SAVE_TRACE = "Save trace"
OPEN_TRACE = "Open file"
OPEN_TRACE_HINT = (
    "Open a recorded run, or a report of the benchmark, the replay or the counterfactual pictures (JSON)"
)
REPORT_PAGE = "Save as one HTML file"
THEME_BUTTON = "Light or dark"
EMPTY_PLAYER = "No run is open. Press “Try yours”, or open a trace file."
PLAYER_FAILED = "This run could not be shown. Please reload the page."
LOADING_RUN = "Loading the run …"

# Panel
EXAMPLES_TITLE = "Examples"
PICTURE_LABEL = "Picture"
QUESTION_LABEL = "Question"
QUESTION_PLACEHOLDER = "What is in the picture?"
RUN_BUTTON = "Run"
STOP_BUTTON = "Stop"
SETTINGS_TITLE = "Settings and memory"
MODEL_LABEL = "Model"
MODEL_INFO = "The first question to a model that is not in memory waits until it is loaded."
NODES_LABEL = "Draft nodes per pass"
NODES_INFO = (
    "How many guesses the model checks at once: auto (as many as are worth their measured time) or a number from 0 to "
    "128. The paper uses 63."
)
NEW_TOKENS_LABEL = "New tokens"
NEW_TOKENS_INFO = "The longest answer. 1 to 512."
CLEAR_MEMORY_BUTTON = "Clear memory U"
KEEP_MEMORY_NOTE = (
    "U remembers, for each token, what the model predicted after it. It is yours alone, stays between your questions "
    "and makes later answers faster; it only proposes words, the model checks every one. G and C start empty each time."
)
TEACHING_MODEL_NOTES = dict.fromkeys(
    ("teaching-qwen", "teaching-llava"),
    "This small model knows drawings like the examples (shapes, figures, charts, signs) and misreads photographs. "
    "The method is the same on a large model.",
)
PRIVACY_NOTE = (
    "Your picture and question stay on the machine that runs this page. The picture's file is deleted within two "
    "hours; memory U and your runs when you close or reload the page, or after an hour without use."
)

# Lanes of a run in progress
PLAIN_LANE = "Plain decoding"
RECAP_LANE = "RECAP"

# States of a run
IDLE = "Choose a picture, ask something, press Run."
PLAIN_RUNNING = "Plain decoding comes first, so that there is something to compare with."
RECAP_RUNNING = "RECAP decodes the same answer."
GPU_LENT = "A GPU is lent for both runs at once; they are shown when they are over."
DRAWING = "Measured. Drawing the passes …"
STOPPED_EARLY = "Stopped during plain decoding, so there is nothing to compare yet."
MEMORY_CLEARED = "Memory U is empty."

# Picture lab
LAB_READING = "Reading the answer again in front of a blank picture and of another one."
LAB_STOPPED = "Stopped: the answer was not read again."

# Refusals: one sentence each, saying what to do
NO_PICTURE = "Please choose a picture first: an example or one of your own."
PICTURE_OPENING = "Your picture is still being opened; please press Run again in a moment."
PICTURE_GONE = "This page was away for too long and its picture is gone; please choose the picture again."
NOT_UPLOADED = "This file was not uploaded on this page; please upload it here."
NO_EXAMPLE = "There is no such example; please choose one of those shown."
NO_QUESTION = "Please type a question about the picture."
NO_METHOD = "The method must be a name, for example recap@auto or recap@16."
BROKEN_CHARACTER = "The question holds half a character; please type it again."
RUN_GOING_ON = "Your last run is still going on; please wait for it or press Stop."
MODEL_NOT_CHANGED = "Stopped: the model stays as it was."
NO_MODEL = "This page was started without a model: recorded runs play, new ones cannot be made here."
MODEL_FAILED = "The model could not be loaded; please look at the terminal where the page was started."
RUN_FAILED = "The run failed unexpectedly and left nothing behind; please try again."
TRACE_FAILED = "it cannot be drawn; please record it again with this version."
TRACE_GONE = "it is no longer here; please open it again."
TRACE_TOO_LARGE = "it is larger than 48 MB; please record a shorter run."
ANSWER_TOO_SHORT = (
    "The answer has one token only, so there is no pass to look at; please ask for a longer one."
)
NO_OTHER_PICTURE = "There is no other picture to compare with; please choose one in the panel first."
RUN_NOT_FOUND = "This run is no longer kept; please make it again."


def model_loading(seconds: int) -> str:
    """While the model loads."""
    return f"The model is loading, {seconds} s. A run started now begins by itself."


def waiting(place: int) -> str:
    """While other runs come first; `place` counts them."""
    return f"In the queue: {place} run{'s' if place > 1 else ''} before yours."


def queue_full(limit: int) -> str:
    """The queue's bound is reached."""
    return f"{limit} runs are waiting already; please try again in a minute."


def too_many_runs(limit: int, seconds: int) -> str:
    """One asker's runs within a minute are used up."""
    unit = "second" if seconds == 1 else "seconds"
    return f"{limit} runs were started from here within a minute; please try again in {seconds} {unit}."


def program_too_busy(limit: int) -> str:
    """A program calls before its earlier calls were answered."""
    return f"{limit} calls from this address wait for their answers already; please call again after one has come."


def programs_queue_full(limit: int) -> str:
    """The part of the queue that other programs may take is taken."""
    return f"{limit} calls of programs are waiting already; please try again in a minute."


def not_in_range(name: str, low: int, high: int) -> str:
    """A number that cannot be used."""
    return f"{name} must be a whole number from {low} to {high}; please change it in the settings."


def nodes_not_in_range(low: int, high: int) -> str:
    """Draft nodes that are neither a number nor auto."""
    return f"{NODES_LABEL} must be auto or a whole number from {low} to {high}; please change it in the settings."


def values_missing(names: Sequence[str], num_sent: int) -> str:
    """A program's call with fewer or more values than the endpoint takes."""
    came = "1 value came" if num_sent == 1 else f"{num_sent} values came"
    return f"Please send {len(names)} values in this order: {', '.join(names)}; {came}."


def question_too_long(length: int, limit: int) -> str:
    """A question beyond the limit."""
    return f"The question has {length} characters; please shorten it to at most {limit}."


def lane_figures(num_tokens: int, num_passes: int, seconds: float) -> str:
    """What a lane has done so far."""
    tokens = "1 token" if num_tokens == 1 else f"{num_tokens} tokens"
    passes = "1 pass" if num_passes == 1 else f"{num_passes} passes"
    return f"{tokens} · {passes} · {seconds:.2f} s"


def finished(ratio: float | None, is_same: bool) -> str:
    """The end of a run: throughput against plain decoding, and whether the text is the same."""
    speed = "Done:" if ratio is None else f"Done: {ratio:.2f}× plain decoding's speed,"
    same = "the same text." if is_same else "the texts differ; the player shows from where."
    return f"{speed} {same}"


def stopped(num_passes: int) -> str:
    """A run stopped during RECAP's decoding."""
    return f"Stopped after pass {num_passes}. What was decoded until then is in the player."


def recorded_until(num_passes: int) -> str:
    """A run with more nodes than are recorded."""
    return f"It is so long that its trees are kept up to pass {num_passes} only."


def picture_effect(num_roots: int, num_blank: int, num_other: int) -> str:
    """How many passes would have begun otherwise in front of another picture."""
    if not num_roots:
        return "No pass of this answer could be read again in the same way, so nothing can be said about the picture."
    count = f"{num_roots} pass{'es' if num_roots > 1 else ''}"
    if not num_blank and not num_other:
        return f"All {count} would begin with the same token whatever the picture: this answer owes it nothing there."
    return (
        f"Of {count}, {num_blank} would begin with another token in front of a blank picture, and {num_other} in front "
        "of another one."
    )


def trace_refused(reason: str) -> str:
    """A trace file that cannot be used; `reason` is the reader's sentence."""
    return f"The file was not opened: {reason}"


def no_such_model(names: tuple[str, ...]) -> str:
    """A model that is not offered."""
    return f"This page does not offer that model; please choose one of {', '.join(names)}."


def model_chosen(model: str) -> str:
    """Another model answers from now on."""
    return f"{model} answers your next questions, with a memory U of its own."


def model_in_use(model: str) -> str:
    """A model of the operator's choice."""
    return f"Questions are answered by {model}."


def picture_size(width: int, height: int) -> str:
    """A picture's size under its preview."""
    return f"{width} × {height} pixels."


def memory_held(num_rows: int) -> str:
    """Rows in U."""
    if not num_rows:
        return "U is empty."
    return "U holds 1 row." if num_rows == 1 else f"U holds {num_rows} rows."
