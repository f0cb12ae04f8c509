"""The showcase: a small illustrated-by-voice book about two people, made by the job ``nuclear_v2``.

    calculate ──▶ 16 times (text_generation ──▶ pdf_generation ──▶ audio_generation) ──▶ finalize

* ``people`` says what the job takes; ``charts`` and ``sky`` work out where the Sun and the Moon stood.
* ``writer`` writes a chapter from ``prose.toml``, the same words for the same parameters every time.
  With ``ANTHROPIC_API_KEY`` set, ``claude`` writes it instead.
* ``pages`` sets a chapter, or the whole book, as PDF/A; ``voice`` reads it aloud, ``recording`` keeps that
  as MP3.

Everything comes from wheels (``pip install 'shoal[examples]'``); no program or font of the system is used.
The positions in the sky are computed. What is said about them is made up.
"""
