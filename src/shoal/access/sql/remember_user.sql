-- remember_user: keep that we have seen a user, and what to call them
-- params: user_id uuid, name text
-- returns: nothing
-- locks: the user's row, and only when something changes
INSERT INTO public.users AS known (id, name) VALUES ($1, $2)
ON CONFLICT (id) DO UPDATE SET name = excluded.name
WHERE excluded.name <> '' AND known.name <> excluded.name
