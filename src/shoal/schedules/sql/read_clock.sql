-- read_clock: the clock that decides
-- params: none
-- returns: now
-- locks: none
SELECT clock_timestamp()
