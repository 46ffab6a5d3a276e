-- What only readers look things up by. It may be made last, when the tables are
-- full, which is several times as fast.
-- The rest of a path may be longer than what an index holds.
CREATE INDEX IF NOT EXISTS busy_under ON busy (under);
