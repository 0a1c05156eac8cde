"""Input parts: numbers -> vectors, and a mask that says which of them are real."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from regard.attention.mask import Mask
from regard.errors import ShapeError
from regard.layers.block import LayerNorm, make_norm
from regard.layers.dropout import Dropout

Inputs = dict[str, Tensor]

# Letters are read in patterns of these widths.
PATTERN_WIDTHS = (2, 3, 4, 5)

# Words are read in so many groups of like length, so that one web address does not make all words long.
_GROUPS = 6

_PADDING, _UNKNOWN = 0, 1


class InputPart(nn.Module):
    """Reads a batch's inputs and makes vectors."""

    def forward(self, inputs: Inputs) -> Tensor:
        """(batch, time, width)"""
        raise NotImplementedError

    # How long what is read may be; None: any length.
    most: int | None = None

    def mask(self, inputs: Inputs) -> Mask:
        """Which of the vectors are real; of two texts that are read apart, none looks at the other's."""
        real = Mask.lengths(inputs["lengths"])
        return real & Mask.blocks(inputs["texts"]) if "texts" in inputs else real

    def positions(self, inputs: Inputs) -> Tensor | None:
        """Where the vectors stand, (batch, time); None where they stand one after the other."""
        return None


class Embedding(nn.Module):
    """Each number has a vector; in training some are shown as the unknown, so that context must do.

    Vectors start as normal with standard deviation 1/sqrt(width), so that each is about 1 long.
    Source of hiding words: Iyyer et al. 2015, ACL, section 3.1 ("word dropout").
    """

    def __init__(self, count: int, width: int, *, dropout: float = 0.0, table: nn.Embedding | None = None) -> None:
        """table: vectors that are shared with others, instead of new ones"""
        super().__init__()
        self.table = _table(count, width) if table is None else table
        self.dropout = dropout

    def forward(self, numbers: Tensor) -> Tensor:
        """numbers: (batch, time); output: (batch, time, width)"""
        if self.training and self.dropout:
            hidden = torch.rand(numbers.shape, device=numbers.device) < self.dropout
            numbers = numbers.masked_fill(hidden & (numbers != _PADDING), _UNKNOWN)
        return self.table(numbers)


def _table(count: int, width: int) -> nn.Embedding:
    table = nn.Embedding(count, width, padding_idx=_PADDING)
    nn.init.normal_(table.weight, std=width**-0.5)
    with torch.no_grad():
        table.weight[_PADDING].zero_()
    return table


class LetterPatterns(nn.Module):
    """A word's vector from its letters: how strongly each of many patterns of letters stands anywhere in it.

    Source: Kim et al. 2016, arXiv:1508.06615, section 3.1 (a convolution over letters, then the maximum over places).
    """

    def __init__(self, count: int, width: int, filters: int) -> None:
        super().__init__()
        self.letters = nn.Embedding(count, width, padding_idx=_PADDING)
        patterns = [nn.Linear(size * width, filters) for size in PATTERN_WIDTHS]
        self.weights = nn.ParameterList(pattern.weight for pattern in patterns)
        self.biases = nn.ParameterList(pattern.bias for pattern in patterns)
        self.width = filters * len(PATTERN_WIDTHS)

    def forward(self, letters: Tensor) -> Tensor:
        """letters: (words, longest), padded with 0; output: (words, width), a word without letters gives zeros."""
        weight, bias = self._kernel()
        return torch.cat([self._found(group, weight, bias) for group in _groups(letters)])

    def _kernel(self) -> tuple[Tensor, Tensor]:
        """All patterns as one matrix, the narrow ones filled up with zeros: one large product is several times faster
        than a convolution for each width."""
        widest = max(PATTERN_WIDTHS) * self.letters.embedding_dim
        weights = [F.pad(weight, (0, widest - weight.shape[1])) for weight in self.weights]
        return torch.cat(weights), torch.cat(list(self.biases))

    def _found(self, letters: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        places = letters.shape[1]
        # A pattern may hang over the end of the word.
        x = self.letters(F.pad(letters, (0, max(PATTERN_WIDTHS) - 1)))
        # (words, longest, widest pattern * letter width): the letters from each place on
        x = torch.cat([x[:, shift : shift + places] for shift in range(max(PATTERN_WIDTHS))], -1)
        strengths = F.relu(F.linear(x, weight, bias))
        # ReLU is never below 0, so 0 stands for "nowhere"; a pattern counts where it begins on a letter.
        return strengths.masked_fill((letters == _PADDING)[..., None], 0.0).amax(1)


def _groups(letters: Tensor) -> list[Tensor]:
    """The words in groups, each as wide as its longest word: they come from short to long, and most are short."""
    # While an export is traced numbers have no values yet, and so words no lengths.
    if torch.compiler.is_compiling():
        return [letters]
    letters = F.pad(letters, (0, 1)) if letters.shape[1] == 0 else letters
    lengths = (letters != _PADDING).sum(1)
    groups = zip(letters.chunk(_GROUPS), lengths.chunk(_GROUPS), strict=True)
    return [group[:, : max(1, int(length.max()))] for group, length in groups]


class WordInput(InputPart):
    """One vector for each word.

    It is layer-normalised, as in BERT (Devlin et al. 2019, arXiv:1810.04805, appendix A.2 and its code): else what a
    word is would be small beside what the first blocks add to it.
    """

    def __init__(self, words: nn.Module, word_width: int, width: int, *, dropout: float = 0.0) -> None:
        super().__init__()
        self.words = words
        self.dropout = Dropout(dropout)
        self.project = nn.Linear(word_width, width)
        nn.init.xavier_uniform_(self.project.weight)
        nn.init.zeros_(self.project.bias)
        self.norm = LayerNorm(width)

    def features(self, inputs: Inputs) -> Tensor:
        """(batch, time, word_width)"""
        return self.words(inputs["word_numbers"])

    def forward(self, inputs: Inputs) -> Tensor:
        """(batch, time, width)"""
        return self.norm(self.project(self.dropout(self.features(inputs))))


class MarkedInput(InputPart):
    """What another part reads, with a mark at each word that stands in the other text too.

    Source: Chen et al. 2017, arXiv:1704.00051, section 3.2 (their exact match). A network that learns from few pairs
    would not find out by itself that two words are the same.
    """

    def __init__(self, read: InputPart, width: int) -> None:
        super().__init__()
        self.read = read
        # Not shared, shared.
        self.marks = nn.Embedding(2, width)
        nn.init.normal_(self.marks.weight)

    def forward(self, inputs: Inputs) -> Tensor:
        """(batch, time, width)"""
        return self.read(inputs) + self.marks(inputs["shared"])


class Affixes(nn.Module):
    """A word's vectors from how it begins, how it ends, and its shape, side by side."""

    def __init__(self, affixes: int, shapes: int, width: int) -> None:
        super().__init__()
        self.tables = nn.ModuleList(Embedding(count, width) for count in (affixes, affixes, shapes))
        self.width = 3 * width

    def forward(self, affixes: Tensor) -> Tensor:
        """affixes: (words, 3), numbers of beginning, end and shape; output: (words, width)"""
        return torch.cat([table(affixes[:, place]) for place, table in enumerate(self.tables)], -1)


class WordCharacterInput(WordInput):
    """One vector for each word, made of the word's own and of what its letters say.

    Source of joining the two: Ma & Hovy 2016, arXiv:1603.01354, section 2.1.
    """

    def __init__(
        self,
        words: nn.Module,
        letters: LetterPatterns,
        affixes: Affixes,
        word_width: int,
        width: int,
        *,
        dropout: float = 0.0,
    ) -> None:
        super().__init__(words, word_width + letters.width + affixes.width, width, dropout=dropout)
        self.letters = letters
        self.affixes = affixes

    def features(self, inputs: Inputs) -> Tensor:
        """(batch, time, word_width + letters.width + affixes.width)"""
        # Each distinct word is read once, then put where it stands. F.embedding and not indexing: the gradient of the
        # latter adds up in an order that changes from run to run.
        spelled = torch.cat((self.letters(inputs["letters"]), self.affixes(inputs["affixes"])), -1)
        return torch.cat((super().features(inputs), F.embedding(inputs["spellings"], spelled)), -1)


class ScaledEmbedding(Embedding):
    """Vectors multiplied by the root of their width, which makes their numbers about 1, while as weights of an output
    they are small: Vaswani et al. 2017, arXiv:1706.03762, section 3.4."""

    def forward(self, numbers: Tensor) -> Tensor:
        """numbers: (batch, time); output: (batch, time, width)"""
        return super().forward(numbers) * self.table.embedding_dim**0.5


class PieceInput(InputPart):
    """One vector for each piece (letter or sub-word)."""

    def __init__(self, pieces: ScaledEmbedding) -> None:
        super().__init__()
        self.pieces = pieces

    def forward(self, inputs: Inputs) -> Tensor:
        """(batch, time, width)"""
        return self.pieces(inputs["piece_numbers"])


class PlacedInput(InputPart):
    """Vectors of the piece, of its place and of which of two texts it is in are added, and the sum is normed.

    Source: Devlin et al. 2019, arXiv:1810.04805, figure 2, and their code. A narrower vector that is then projected:
    Lan et al. 2020, arXiv:1909.11942, section 3.1 (factorized embedding parameterization).

    places:   how many places there are
    segments: how many texts are told apart; 0: none are
    width:    of what is given; that of the pieces where it is None, without a projection
    """

    def __init__(
        self,
        pieces: Embedding,
        places: int,
        *,
        segments: int = 0,
        width: int | None = None,
        epsilon: float | None = None,
    ) -> None:
        super().__init__()
        narrow = pieces.table.embedding_dim
        self.pieces = pieces
        self.places = nn.Embedding(places, narrow)
        self.segments = nn.Embedding(segments, narrow) if segments else None
        self.norm = make_norm("layer", narrow, epsilon)
        self.project = nn.Identity() if width is None else nn.Linear(narrow, width)
        self.most = places
        for table in filter(None, (self.places, self.segments)):
            nn.init.normal_(table.weight, std=0.02)

    def forward(self, inputs: Inputs) -> Tensor:
        """(batch, time, width)"""
        x = self.pieces(inputs["piece_numbers"])
        # While an export is traced lengths are open; there the look-up itself refuses what is too long.
        if not torch.compiler.is_compiling() and x.shape[1] > self.places.num_embeddings:
            raise ShapeError(
                f"an input of {x.shape[1]} pieces is longer than the {self.places.num_embeddings} places that have a "
                "vector (input.places); cut it"
            )
        x = x + self.places(torch.arange(x.shape[1], device=x.device))
        if self.segments is not None:
            x = x + self.segments(inputs["segments"])
        return self.project(self.norm(x))
