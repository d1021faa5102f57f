"""What check_documents.py passes over, and why."""

# Options of other programs.
FOREIGN_OPTIONS = {}
FOREIGN_VARIABLES = {}
OWN_DOCUMENTS = {}
UNDOCUMENTED = {}
ELSEWHERE = {}
