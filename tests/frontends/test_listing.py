"""Programs: the Specs that they become, and that those of ONNX are right."""

import numpy as np
import pytest

pytest.importorskip(
    "onnx", reason="onnx is not installed: pip install -e '.[test-frameworks]'"
)

from onnx.reference import ReferenceEvaluator

from tests.frontends import listing
from tests.tables import check_table

pytestmark = pytest.mark.quick


def test_small_models_are_as_listed_and_right() -> None:
    models = {}
    rng = np.random.default_rng(0)
    for name in listing.MODELS:
        proto, model = listing.read(name)
        models[name] = model
        inputs = {
            p.name: rng.integers(0, 255, p.shape).astype(p.dtype)
            if p.dtype == np.uint8
            else rng.standard_normal(p.shape).astype(p.dtype)
            for p in model.parameters
            if not p.is_output
        }
        wanted = ReferenceEvaluator(proto).run(None, inputs)
        results = model.evaluate(*inputs.values())
        for result, right in zip(
            results if isinstance(results, tuple) else (results,), wanted, strict=True
        ):
            assert result.dtype == right.dtype, name
            np.testing.assert_allclose(result, right, 1e-5, 1e-6, err_msg=name)
    table = listing.listing(models | listing.programs())
    check_table(listing.FILE, table, listing.__name__)
