package fault_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"annals/events/fault"
)

func TestDetailIncludesHiddenCauses(t *testing.T) {
	cause := errors.New("open /srv/index: no such file")
	inner := fault.Hide(fault.Unavailable, "the index does not answer", fmt.Errorf("ask it: %w", cause))
	for _, err := range []error{inner, fmt.Errorf("search: %w", inner), fault.Errorf(fault.Unavailable, "search: %w", inner)} {
		if strings.Contains(err.Error(), "/srv") || !strings.HasSuffix(err.Error(), "the index does not answer") {
			t.Errorf("clients are told %q", err)
		}
		if want := err.Error() + ": ask it: open /srv/index: no such file"; fault.Detail(err) != want {
			t.Errorf("operators are told %q, want %q", fault.Detail(err), want)
		}
		if !errors.Is(err, cause) || !fault.Is(err, fault.Unavailable) {
			t.Errorf("%v has lost its cause or its kind", err)
		}
	}
	if plain := errors.New("x"); fault.Detail(plain) != "x" {
		t.Errorf("a plain error is told as %q", fault.Detail(plain))
	}
}
