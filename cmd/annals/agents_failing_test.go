package main

// meantToFail lists, for each version of the MCP protocol, the scenarios and single
// checks of the conformance suite that are expected to fail, and why.
func meantToFail() map[string]map[string]string {
	const (
		fixture   = "it is about a tool or a resource of the suite's own example server"
		prompts   = "there are no prompts"
		logging   = "calls answer with their results, and log nothing to clients"
		asking    = "the tools ask neither the person nor the model for anything"
		unwatched = "resources are read again, not watched"
		headers   = "no tool wants its arguments repeated in headers"
	)
	return map[string]map[string]string{
		"2025-11-25": {
			"logging-set-level":             logging,
			"tools-call-simple-text":        fixture,
			"tools-call-image":              fixture,
			"tools-call-audio":              fixture,
			"tools-call-embedded-resource":  fixture,
			"tools-call-mixed-content":      fixture,
			"tools-call-with-logging":       fixture,
			"tools-call-error":              fixture,
			"tools-call-with-progress":      fixture,
			"tools-call-sampling":           asking,
			"tools-call-elicitation":        asking,
			"json-schema-2020-12":           fixture,
			"elicitation-sep1034-defaults":  asking,
			"elicitation-sep1330-enums":     asking,
			"resources-read-text":           fixture,
			"resources-read-binary":         fixture,
			"resources-templates-read":      fixture,
			"resources-subscribe":           unwatched,
			"resources-unsubscribe":         unwatched,
			"prompts-list":                  prompts,
			"prompts-get-simple":            prompts,
			"prompts-get-with-args":         prompts,
			"prompts-get-embedded-resource": prompts,
			"prompts-get-with-image":        prompts,
		},
		"2026-07-28": {
			"server-stateless sep-2575-server-rejects-undeclared-capability":          asking,
			"server-stateless sep-2575-missing-capability-http-400":                   asking,
			"server-stateless sep-2575-http-server-no-independent-requests-on-stream": asking,
			"server-stateless sep-2575-server-no-log-without-loglevel":                logging,
			"caching sep-2549-prompts-list-caching-hints":                             prompts,
			"tools-call-simple-text":                                                  fixture,
			"tools-call-image":                                                        fixture,
			"tools-call-audio":                                                        fixture,
			"tools-call-embedded-resource":                                            fixture,
			"tools-call-mixed-content":                                                fixture,
			"tools-call-error":                                                        fixture,
			"tools-call-with-progress":                                                fixture,
			"json-schema-2020-12":                                                     fixture,
			"http-custom-header-server-validation":                                    headers,
			"resources-read-text":                                                     fixture,
			"resources-read-binary":                                                   fixture,
			"resources-templates-read":                                                fixture,
			"prompts-list":                                                            prompts,
			"prompts-get-simple":                                                      prompts,
			"prompts-get-with-args":                                                   prompts,
			"prompts-get-embedded-resource":                                           prompts,
			"prompts-get-with-image":                                                  prompts,
			"input-required-result-basic-elicitation":                                 asking,
			"input-required-result-basic-sampling":                                    asking,
			"input-required-result-basic-list-roots":                                  asking,
			"input-required-result-request-state":                                     asking,
			"input-required-result-multiple-input-requests":                           asking,
			"input-required-result-multi-round":                                       asking,
			"input-required-result-missing-input-response":                            asking,
			"input-required-result-non-tool-request":                                  asking,
			"input-required-result-result-type":                                       asking,
			"input-required-result-tampered-state":                                    asking,
			"input-required-result-capability-check":                                  asking,
			"input-required-result-ignore-extra-params":                               asking,
		},
	}
}
