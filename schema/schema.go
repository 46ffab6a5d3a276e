// Package schema embeds the OpenAPI documents of both services, a JSON Schema for every
// event type, and the SQL of the read models. It imports no other package of this module.
package schema

import "embed"

// SQL has sql/<name>.sql, the tables of the read models in the SQL of sqldb.Dialect, and
// sql/<dialect>/<name>.sql, additions for one database.
//
//go:embed sql
var SQL embed.FS

// Events has events/<Type>.v<N>.json, the JSON Schema (draft 2020-12) of
// version N of an event type's payload.
//
//go:embed events/*.json
var Events embed.FS

// OpenAPI has core.openapi.yaml and vault.openapi.yaml, which describe the two
// services.
//
//go:embed *.openapi.yaml
var OpenAPI embed.FS
