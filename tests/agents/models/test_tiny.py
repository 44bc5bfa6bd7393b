import hashlib
import subprocess
import sys

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from budget_envs.agents.models.tiny import CONTROL_TOKENS, TinyConfig, make_tiny  # noqa: E402
from budget_envs.errors import OptionError  # noqa: E402

TEXTS = ["You have 12 turns left.\n_ G _ O", "Left", "<tool_call>\n{}\n</tool_call>", "día 世"]
SHAPE = TinyConfig(hidden_size=16, num_layers=1, num_heads=2, vocab_size=300)
DIGEST = (
    "import hashlib; from budget_envs.agents.models.tiny import *; "
    f"m = make_tiny({TEXTS!r}, {SHAPE!r}, seed=5); "
    "h = hashlib.sha256(m.tokenizer.backend_tokenizer.to_str().encode()); "
    "[h.update(w.detach().numpy().tobytes()) for _, w in sorted(m.model.named_parameters())]; "
    "print(h.hexdigest())"
)


def digest_here() -> str:
    model = make_tiny(TEXTS, SHAPE, seed=5)
    digest = hashlib.sha256(model.tokenizer.backend_tokenizer.to_str().encode())
    for _, weight in sorted(model.model.named_parameters()):
        digest.update(weight.detach().numpy().tobytes())
    return digest.hexdigest()


def test_equal_arguments_give_equal_bytes_in_every_process():
    ran = subprocess.run(
        [sys.executable, "-c", DIGEST],
        env={"PYTHONHASHSEED": "7", "PATH": ""},
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert ran.stdout.strip() == digest_here() == digest_here()


def test_another_seed_gives_other_weights_and_the_same_tokens():
    one, other = make_tiny(TEXTS, SHAPE, seed=1), make_tiny(TEXTS, SHAPE, seed=2)
    assert not torch.equal(one.model.lm_head.weight, other.model.lm_head.weight)
    assert one.tokenizer.get_vocab() == other.tokenizer.get_vocab()


def test_global_random_state_is_left_as_it_is():
    torch.manual_seed(11)
    state = torch.get_rng_state()
    make_tiny(TEXTS, SHAPE)
    assert torch.equal(torch.get_rng_state(), state)


def test_every_control_token_is_one_token():
    tokenizer = make_tiny(TEXTS, SHAPE).tokenizer
    for number, token in enumerate(CONTROL_TOKENS):
        assert tokenizer(token, add_special_tokens=False)["input_ids"] == [number]


@pytest.mark.parametrize("text", ["Left", "żółw 🙂\n\t", "12345", "<|im_end|>x", "", " a  b "])
def test_every_text_comes_back(text):
    tokenizer = make_tiny(TEXTS, SHAPE).tokenizer
    ids = tokenizer(text, add_special_tokens=False)["input_ids"]
    assert tokenizer.decode(ids, skip_special_tokens=False) == text


def test_roles_are_tokens_of_their_own():
    tokenizer = make_tiny(["Left"] * 3, SHAPE).tokenizer
    assert len(tokenizer("user\nassistant\n", add_special_tokens=False)["input_ids"]) == 4


def test_the_folder_is_an_ordinary_one_of_hugging_face(tmp_path):
    made = make_tiny(TEXTS, SHAPE)
    made.save(tmp_path)
    model = transformers.AutoModelForCausalLM.from_pretrained(tmp_path)
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path)
    messages = [{"role": "user", "content": "Go."}]
    ids = tokenizer.apply_chat_template(
        messages, add_generation_prompt=True, return_tensors="pt", return_dict=True
    )["input_ids"]
    assert ids[0].tolist() == made.chat.first(messages)
    with torch.no_grad():
        assert torch.equal(model(ids).logits, made.model(ids).logits)
    assert model.config.eos_token_id == tokenizer.eos_token_id == 2


def test_the_default_shape_has_about_a_million_parameters_and_one_key_head():
    letters = "abcdefghijklmnopqrstuvwxyz"
    texts = [f"{a}{b}{c}ing {c}{a}{b}ed" for a in letters for b in letters for c in letters[:5]]
    made = make_tiny(texts)
    assert 0.8e6 < made.model.num_parameters() < 1.1e6
    assert made.model.config.num_key_value_heads == 1
    assert len(made.tokenizer) == 1024


@pytest.mark.parametrize(
    "shape", [{"hidden_size": 100, "num_heads": 8}, {"num_kv_heads": 3}, {"vocab_size": 100}]
)
def test_a_shape_that_cannot_be_is_refused(shape):
    with pytest.raises(OptionError):
        TinyConfig(**shape)
