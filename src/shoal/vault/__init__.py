"""The vault: bytes, in a bucket (S3, GCS, Azure) or in a folder. No other store holds any.

What it owns
    Objects: bytes under a key, written once as a whole, replaced as a whole, read in pieces.
    Links: URLs with an end, that let somebody without any account read one object.

Invariants
    * An object is either whole or not there. A put that fails, is cancelled or is too large leaves
      what was there before. One that is cancelled at its very last step may have become whole.
    * Nothing is held whole in memory: bytes stream through in blocks, counted and hashed.
    * Once ``put`` returned, the object survives a power cut. obstore's own LocalStore renames, but
      never calls fsync (seen in a trace of its system calls), so ``folder`` does its own I/O.
      A delete may be undone by a power cut.
    * A key names an object below the root, whatever is in it (``names``). A symbolic link inside
      the folder is never followed, neither for an object nor for a folder on the way to it: to
      the vault it is not there. The root itself may be one, that is the operator's choice.
    * A folder holds ``a`` or ``a/b``, not both: the second put is a conflict. Buckets allow both;
      do not rely on it.

Links
    A bucket signs its own. It serves the content type stored by ``put``, and the last part of the
    key as the file's name: obstore signs no further parameters. Buckets refuse more than a week.
    For a folder, ``links`` signs key, content type, name and end with the secret of the vault, and
    the API serves them. The content type in such a link comes from a task, so the route must send
    ``X-Content-Type-Options: nosniff`` and keep scripts in it from running in the API's origin.

When something fails
    * No such object: ``NotFound``. The store does not answer, is full or refuses us:
      ``Unavailable``. obstore has by then tried again by itself.
    * The source of a put fails: its own error comes out, as it was.
    * A crash in the middle of a put leaves a file in ``.incoming`` of the folder, which goes a day
      later when a vault is opened; in a bucket it leaves an unfinished multipart upload. Give the
      bucket a lifecycle rule that ends those.
"""
