package settings

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// removed maps flags that earlier versions had to what to do now. For these, suggesting
// a flag with a similar name would mislead.
var removed = map[string]string{
	"read-replica": "read replicas are no longer supported; remove it",
}

// ExplainRemoved is a cobra flag error function. It replaces the error for a removed flag
// and returns other errors unchanged.
func ExplainRemoved(_ *cobra.Command, err error) error {
	if unknown := (*pflag.NotExistError)(nil); errors.As(err, &unknown) {
		if why, ok := removed[unknown.GetSpecifiedName()]; ok {
			return fmt.Errorf("--%s was removed: %s", unknown.GetSpecifiedName(), why)
		}
	}
	return err
}
