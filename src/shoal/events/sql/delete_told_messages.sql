-- delete_told_messages: a batch of the outbox that every sink has been told of
-- params: none
-- returns: how many
-- locks: the rows
SELECT shoal.delete_told_messages()
