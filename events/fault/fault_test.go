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
	inner := fault.Hide(fault.Unavailable, "the index is unreachable", fmt.Errorf("query: %w", cause))
	for _, err := range []error{inner, fmt.Errorf("search: %w", inner), fault.Errorf(fault.Unavailable, "search: %w", inner)} {
		if strings.Contains(err.Error(), "/srv") || !strings.HasSuffix(err.Error(), "the index is unreachable") {
			t.Errorf("Error: got %q, want it without the cause", err)
		}
		if want := err.Error() + ": query: open /srv/index: no such file"; fault.Detail(err) != want {
			t.Errorf("Detail: got %q, want %q", fault.Detail(err), want)
		}
		if !errors.Is(err, cause) || !fault.Is(err, fault.Unavailable) {
			t.Errorf("%v: got kind %v, want Unavailable, and the cause wrapped", err, fault.KindOf(err))
		}
	}
	if plain := errors.New("x"); fault.Detail(plain) != "x" {
		t.Errorf("Detail of a plain error: got %q, want %q", fault.Detail(plain), "x")
	}
}
