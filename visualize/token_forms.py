"""The tokens of one trace as text: a form for each id, and the running text in pieces."""

from __future__ import annotations

from collections.abc import Sequence

from recap.events import Trace
from recap.tokens import TextStream, readable_text, visible_text


class TokenForms:
    """Visible forms by id, from the trace's token table; ids that it lacks show their number."""

    def __init__(self, trace: Trace) -> None:
        self._by_id = {token.id: token for token in trace.tokens}

    def form(self, token_id: int) -> str:
        """The form to show, safe even where a trace from elsewhere brings invisible characters along."""
        token = self._by_id.get(token_id)
        return visible_text(token.form) if token is not None and token.form else f"\u27e8id {token_id}\u27e9"

    def forms(self, token_ids: Sequence[int]) -> str:
        """Several forms as one string, ready for a sentence."""
        return "".join(self.form(token_id) for token_id in token_ids)

    def is_special(self, token_id: int) -> bool:
        """Whether the token is a control token, which adds no text."""
        token = self._by_id.get(token_id)
        return token is not None and token.is_special

    def pieces(self, token_ids: Sequence[int]) -> list[str]:
        """[num_tokens] what each token adds to the running text.

        A character spread over several tokens belongs to the one that ends it; special and unknown tokens show their
        form.
        """
        stream = TextStream(lambda token_id: bytes.fromhex(self._by_id[token_id].bytes_hex))
        pieces = []
        for token_id in token_ids:
            if token_id not in self._by_id or self.is_special(token_id):
                pieces.append(stream.finish() + self.form(token_id))
            else:
                pieces.append(readable_text(stream.push([token_id])))
        held = stream.finish()
        if pieces and held:
            pieces[-1] += held
        return pieces
