package reader_test

import "testing"

func killChildren(t *testing.T) { t.Skip("this system does not say which processes were started") }
