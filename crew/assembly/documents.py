"""Collections of documents, as the configuration says; live."""

from crew.config.crew_files import CrewFiles
from crew.config.keys.documents import CollectionConfig
from crew.documents.cuts import CutRule
from crew.documents.rules import MAX_PASSAGES, CollectionRule, DocumentRules
from crew.journal.records.remembered.documents import DocumentLimits
from crew.memory.words import Words


def document_rules(files: CrewFiles) -> DocumentRules:
    """Return the collections of a crew without errors."""
    crew = files.crew
    assert crew is not None, "only of a crew that can be read"
    if not crew.documents:
        return DocumentRules()
    language = crew.settings.language
    rules = {name: _rule(name, config) for name, config in crew.documents.items()}
    return DocumentRules(rules, language, Words(language))


def _rule(name: str, config: CollectionConfig) -> CollectionRule:
    return CollectionRule(
        name,
        config.description,
        tuple(config.files or ()),
        config.owner_scope,
        frozenset(config.accept),
        int(config.max_file_mb * 1_000_000),
        DocumentLimits(
            config.max_files, config.max_chars, MAX_PASSAGES, config.embeddings is not None
        ),
        CutRule(config.chunk.tokens, config.chunk.repeated, MAX_PASSAGES),
        config.summaries,
        config.is_untrusted,
    )
