-- What only readers look things up by. It may be made last, when the tables are
-- full, which is several times as fast.
CREATE INDEX IF NOT EXISTS entries_time ON entries (time);
CREATE INDEX IF NOT EXISTS entries_actor ON entries (actor, time);
CREATE INDEX IF NOT EXISTS entries_place ON entries (place, time);
CREATE INDEX IF NOT EXISTS entries_place_actor ON entries (place, actor, time);
CREATE INDEX IF NOT EXISTS entries_answers ON entries (actor, time) WHERE type IN ('FolderInvitationAccepted', 'FolderLeft');
