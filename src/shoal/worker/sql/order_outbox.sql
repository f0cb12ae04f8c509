-- order_outbox: give committed rows of the outbox their positions, as any relay does
-- params: none
-- returns: how many
-- locks: partitions with such rows, skipping those somebody else is at
SELECT shoal.order_outbox()
