package session_test

import (
	"testing"

	"annals/http/signin/accounts/accountstest"
)

func TestMain(m *testing.M) { accountstest.Run(m) }
