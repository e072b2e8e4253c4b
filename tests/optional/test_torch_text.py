"""Explanations of texts by their words or tokens."""

from __future__ import annotations

import numpy as np
import pytest

import xcid
import xcid_torch.plots
from xcid.errors import InvalidData, InvalidParameter, ModelError, NotEnoughFlips
from xcid_torch import Drop, MaskToken, TextExplainer, Tokens, words

torch = pytest.importorskip("torch", reason="needs the extra torch")
nn = torch.nn

VOCABULARY = ["[PAD]", "[MASK]", "a", "film", "good", "bad", "very", "not", "and", "long", "it", "was"]
LONG = "it was a very good film and not bad"


@pytest.fixture(autouse=True)
def quiet_torch():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    with torch.random.fork_rng(devices=[]):
        yield
    torch.set_num_threads(threads)


def mood(texts):
    """Good speaks for it, bad against it, and "not bad" for it."""
    score = np.array([2.0 * text.count("good") - 2 * text.count("bad") + 3 * ("not bad" in text) for text in texts])
    return 1 / (1 + np.exp(-score + 0.5))


class Tokenizer:
    """Speaks as Hugging Face's do, on words."""

    mask_token = "[MASK]"

    def __call__(self, text, return_offsets_mapping=False, return_tensors=None, padding=False, truncation=False):
        if isinstance(text, str):
            spans = [(0, 0), *words(text), (0, 0)]  # special tokens at both ends
            return {"offset_mapping": spans}
        ids = [[VOCABULARY.index(word) for word in one.split()] for one in text]
        longest = max(map(len, ids), default=1)
        padded = [[*one, *[0] * (longest - len(one))] for one in ids]
        return {"input_ids": torch.tensor(padded), "attention_mask": torch.tensor(padded) > 0}


class Answer:
    def __init__(self, logits):
        self.logits = logits


class Model(nn.Module):
    """Sums a weight for each word."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Embedding(len(VOCABULARY), 1)
        with torch.no_grad():
            self.weight.weight.zero_()
            self.weight.weight[VOCABULARY.index("good")] = 2
            self.weight.weight[VOCABULARY.index("bad")] = -2

    def forward(self, input_ids, attention_mask):
        score = (self.weight(input_ids)[:, :, 0] * attention_mask).sum(1) - 0.5
        return Answer(torch.stack([-score, score], dim=1))


class TestScores:
    def test_words_that_decide(self):
        explanation = TextExplainer(mood)(LONG)
        shown = [explanation.shown(0, at) for at in range(9)]
        assert shown == LONG.split()
        assert [shown[at] for at in np.argsort(-explanation.values[0])[:2]] == ["good", "not"]
        others = [at for at, word in enumerate(shown) if word not in ("good", "not", "bad")]
        assert np.abs(explanation.values[0, others]).max() < 0.02
        assert explanation.p_values[0, shown.index("good")] < 0.001

    def test_ignored_words_are_noise(self):
        """Words that the model does not look at are significant in about 5% of cases at most."""

        def rough(texts):  # with interactions, so that chance has something to do
            score = [3 * text.count("good") * (1 + text.count("film")) - 2.5 * ("very" in text) - 2 for text in texts]
            return 1 / (1 + np.exp(-np.array(score)))

        text = "good film it was a very long and a bad thing of some other kind again today"
        idle = [at for at, word in enumerate(text.split()) if word not in ("good", "film", "very")]
        p_values = np.concatenate([TextExplainer(rough)(text, seed=seed).p_values[0, idle] for seed in range(12)])
        assert np.mean(p_values < 0.05) < 0.08

    @pytest.mark.parametrize("seed", range(4))
    def test_a_model_that_leaves_nothing_to_chance(self, seed):
        """What words say adds up, and there are sixteen mixtures: standard errors are those of rounding."""

        def additive(texts):
            return 1 / (1 + np.exp([3 * ("not" in text) - 2 * ("good" in text) - 0.5 for text in texts]))

        explanation = TextExplainer(additive)("not good at all", seed=seed)
        assert explanation.p_values[0].tolist() == [0, 0, 1, 1]
        assert np.sign(explanation.values[0]).tolist() == [-1, 1, 0, 0]  # about the second class

    def test_signs(self):
        explanation = TextExplainer(mood)("a good film and bad music")
        signs = dict(zip(["a", "good", "film", "and", "bad", "music"], np.sign(explanation.values[0]), strict=True))
        assert (signs["good"], signs["bad"]) == (1, -1)

    def test_a_text_alone_and_in_a_batch(self):
        texts = [LONG, "not a good one"]
        whole = TextExplainer(mood)(texts, seed=2)
        alone = TextExplainer(mood)(texts[1], seed=2)
        assert np.array_equal(whole.values[1, :4], alone.values[0])
        assert np.all(whole.feature_status[1, 4:] == "constant")
        assert whole.shown(1, 2) == "good"
        assert whole.shown(0, 2) == "a"
        assert np.array_equal(TextExplainer(mood)(texts, seed=2).values, whole.values)

    def test_equal_texts_are_asked_about_once(self):
        asked = []

        def model(texts):
            asked.extend(texts)
            return mood(texts)

        explanation = TextExplainer(model)("not a good one")
        assert explanation.n_evaluations[0] == len(asked) <= 2**4 + 10  # of which 10 try the model
        assert explanation.n_flips[0] > 16  # of a thousand samples

    def test_the_evidence_is_of_words(self):
        explanation = TextExplainer(mood)(LONG)
        assert explanation.details.levels[4] == ("[MASK]", "good")
        assert sorted(explanation.evidence(0, 4).points.tolist()) == [0.0, 1.0]

    def test_repeated_words_have_places_of_their_own(self):
        explanation = TextExplainer(mood)("good and good")
        assert explanation.values[0, 0] == pytest.approx(explanation.values[0, 2], abs=0.05)
        assert explanation.values[0, 0] > 0.2

    def test_numbers_need_to_know_their_spread(self):
        count = lambda texts: np.array([10.0 * text.count("good") + len(text.split()) / 7 for text in texts])  # noqa: E731
        with pytest.raises(InvalidParameter, match="give background texts, or say by outcome="):
            TextExplainer(count)(LONG)
        explanation = TextExplainer(count, background=[LONG, "bad", "a film", "good and good"])(LONG)
        assert explanation.shown(0, int(np.argmax(np.abs(explanation.values[0])))) == "good"
        asked = TextExplainer(count, outcome=xcid.outcomes.Threshold(5.0))(LONG)
        assert asked.shown(0, int(np.argmax(np.abs(asked.values[0])))) == "good"


class TestFills:
    def test_what_they_write(self):
        spans = words("not  good, really")
        assert MaskToken("<x>")("not  good, really", spans[1:2]) == "not  <x> really"
        assert Drop()("not  good, really", spans[1:2]) == "not really"
        assert Drop()("not good", words("not good")) == ""

    def test_dropping(self):
        explanation = TextExplainer(mood, fill=Drop())(LONG)
        assert explanation.shown(0, int(np.argmax(explanation.values[0]))) == "good"
        assert explanation.details.levels[0][0] == "dropped"


class TestModules:
    def test_a_tokenizer_and_its_module(self):
        net = Model()
        net.train()
        explanation = TextExplainer(net, tokenizer=Tokenizer())(["it was a good film", "a bad film"])
        assert [explanation.shown(row, int(np.argmax(np.abs(explanation.values[row])))) for row in (0, 1)] == [
            "good",
            "bad",
        ]
        assert net.training
        assert explanation.outputs[0].sum() == pytest.approx(1)

    def test_tokens_by_their_offsets(self):
        explainer = TextExplainer(Model(), tokenizer=Tokenizer(), tokenize=Tokens(Tokenizer()))
        assert explainer.spans("a good film") == [(0, 1), (2, 6), (7, 11)]
        assert explainer("a good film").values.shape == (1, 3)

    def test_memory(self):
        class Small(Model):
            def forward(self, input_ids, attention_mask):
                if len(input_ids) > 3:
                    raise torch.cuda.OutOfMemoryError
                return super().forward(input_ids, attention_mask)

        found, wanted = (TextExplainer(net, tokenizer=Tokenizer())("it was a good film") for net in (Small(), Model()))
        assert np.allclose(found.values, wanted.values, atol=1e-6)

    def test_a_module_alone(self):
        with pytest.raises(InvalidParameter, match="give its tokenizer"):
            TextExplainer(Model())

    def test_a_word_that_the_tokenizer_does_not_know(self):
        with pytest.warns(xcid.errors.XcidWarning, match="the tokenizer failed: ValueError"):
            found = TextExplainer(Model(), tokenizer=Tokenizer())("a strange film")
        assert found.status.tolist() == ["model_failed"]

    def test_hugging_face(self):
        """A tokenizer and a small network of theirs, made here."""
        transformers = pytest.importorskip("transformers", reason="is not needed")
        tokenizers = pytest.importorskip("tokenizers", reason="is not needed")
        made = tokenizers.Tokenizer(
            tokenizers.models.WordLevel({word: at for at, word in enumerate([*VOCABULARY, "[UNK]"])}, unk_token="[UNK]")
        )
        made.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
        tokenizer = transformers.PreTrainedTokenizerFast(
            tokenizer_object=made, mask_token="[MASK]", pad_token="[PAD]", unk_token="[UNK]"
        )
        torch.manual_seed(0)
        config = transformers.BertConfig(
            vocab_size=len(tokenizer), hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16,
            num_labels=2,
        )  # fmt: skip
        net = transformers.BertForSequenceClassification(config)
        with torch.no_grad():
            net.classifier.weight *= 200
        text = "it was a good film"
        masked = [MaskToken()(text, [span]) for span in words(text)]
        level = np.median(TextExplainer(net, tokenizer=tokenizer).ask(masked)[:, 1])
        explainer = TextExplainer(
            net, tokenizer=tokenizer, tokenize=Tokens(tokenizer), outcome=xcid.outcomes.Threshold(float(level))
        )
        explanation = explainer(text)
        assert explanation.values.shape == (1, 5)
        assert explanation.shown(0, 3) == "good"
        assert explanation.status[0] == "ok"
        assert np.abs(explanation.values).max() > 0.05


class TestWords:
    def test_too_few_words(self):
        with pytest.raises(InvalidData, match="'good' has 1 parts"):
            TextExplainer(mood)("good")

    def test_no_texts(self):
        with pytest.raises(InvalidData, match="texts must be a text or some of them"):
            TextExplainer(mood)([3])

    def test_nothing_flips(self):
        with pytest.raises(NotEnoughFlips, match="no perturbation of any of 1 rows"):
            TextExplainer(lambda texts: np.full(len(texts), 0.001))("a good film")

    def test_the_model_fails(self):
        with pytest.raises(ModelError, match="ZeroDivisionError"):
            TextExplainer(lambda texts: 1 / 0)("a good film")


class TestPlot:
    def test_words_and_colours(self):
        explanation = TextExplainer(mood)([f"{LONG} $ {'and so on ' * 12}", "a bad film"])
        ax = xcid_torch.plots.tokens(explanation)
        drawn = [text.get_text() for text in ax.texts]
        assert drawn[:9] == LONG.split()
        assert drawn[9] == r"\$"
        white = [np.allclose(patch.get_facecolor(), 1) for patch in ax.patches]
        noise = explanation.p_values[0] > 0.05
        assert white == noise.tolist()
        heights = {round(text.get_position()[1], 3) for text in ax.texts}
        assert len(heights) > 1  # several lines

    def test_a_shorter_text_of_a_batch(self):
        explanation = TextExplainer(mood)([LONG, "a bad film"])
        assert len(xcid_torch.plots.tokens(explanation, 1).texts) == 3
