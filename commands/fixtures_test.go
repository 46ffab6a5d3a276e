package commands

import "annals/commands/commandstest"

var (
	alice, bob, admin = commandstest.Alice, commandstest.Bob, commandstest.Admin
	id                = commandstest.ID
)
