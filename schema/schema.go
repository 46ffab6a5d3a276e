// Package schema holds the contracts that Annals keeps with others, embedded:
// the OpenAPI documents of both services, a JSON Schema for every event type,
// and the SQL of the read models. It imports nothing of ours.
package schema

import "embed"

// SQL holds sql/<dialect>/<name>.sql.
//
//go:embed sql
var SQL embed.FS
