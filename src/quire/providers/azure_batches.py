"""Azure's batches: OpenAI's, of deployments made for them, with limits and habits of their own."""

from dataclasses import replace

from quire.providers.azure import Azure
from quire.providers.filing import PURPOSE
from quire.providers.openai_batches import RULES, OpenAIBatches

# A day is a target: nothing expires there, and whoever wants an end must ask for it.
AZURE_RULES = replace(RULES, calls=100_000, window=0.0)
# A resource holds 500 files that are kept for ever, and 10,000 that go after a fortnight at least.
FIELDS = {
    **PURPOSE,
    "expires_after[seconds]": "1209600",
    "expires_after[anchor]": "created_at",
}


class AzureBatches(OpenAIBatches):
    """Batches as Azure makes them."""

    def __init__(self) -> None:
        """Write calls as Azure reads them, with deployments for models."""
        super().__init__(Azure(), AZURE_RULES, FIELDS)
