"""Documents that agents search and read: what may be kept, and how it is read; pure but for files.

Modules: `rules` (collections, as the configuration says), `names` (of documents), `passages` (what
agents are shown of them), `images` (sent with words), `cuts` (a text into pieces that are
searched), `files` (of the crew's folder), `reading` (bytes to text, in a process that can do
nothing else).
"""
