-- heal_event_order: put events that came with a dump of another server before those of this one
-- params: none
-- returns: how many
-- locks: the rows
SELECT shoal.heal_event_order()
