"""Reproducers in mlir-opt's form: a module, its pipeline as an external resource."""

import json
import re

from morello.errors import PipelineError

HELD_AS = "mlir_reproducer"
"""The name of the resource."""

_TEXT = r'"(?:[^"\\\n]|\\.)*"'

_TEXT_OR_COMMENT = re.compile(r'("(?:[^"\\\n]|\\.)*+"?)|//[^\n]*')
"""The text may lack its end, so that no place is looked at twice."""

_HELD = re.compile(
    rf'"?{HELD_AS}"?\s*:\s*\{{(?:[^{{}}"]|{_TEXT})*?"?pipeline"?\s*:\s*({_TEXT})'
)
"""Up to the pipeline, which may stand after other entries of the resource."""


def with_pipeline(module: str, pipeline: str, verify_each: bool) -> str:
    """The text of a reproducer, which ``--run-reproducer`` runs again."""
    verify = str(verify_each).lower()
    return (
        f"{module.rstrip()}\n\n"
        "{-#\n  external_resources: {\n    mlir_reproducer: {\n"
        f"      pipeline: {json.dumps(pipeline)},\n"
        f"      disable_threading: true,\n      verify_each: {verify}\n"
        "    }\n  }\n#-}\n"
    )


def held_pipeline(source: str | bytes) -> str:
    """The pipeline that a reproducer holds.

    Raises:
        PipelineError: it holds none.
    """
    match = None
    if isinstance(source, str) and "{-#" in source:
        resources = source[source.rindex("{-#") :]
        plain = _TEXT_OR_COMMENT.sub(lambda one: one[1] or "", resources)
        match = _HELD.search(plain)
    if match is None:
        raise PipelineError(
            "the input holds no pipeline",
            "give a file that --mlir-generate-reproducer wrote",
        )
    return str(json.loads(match[1]))
