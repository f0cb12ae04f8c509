-- knows_user: whether there is such a user
-- params: user_id uuid
-- returns: one boolean
-- locks: none
SELECT EXISTS (SELECT FROM public.users WHERE id = $1)
