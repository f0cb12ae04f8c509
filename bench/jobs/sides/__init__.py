"""One program for each side. They speak ``protocol``, and import nothing else of the bench."""
