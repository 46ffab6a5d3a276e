package problem

import "strings"

// Rejected is an error of kind fault.Invalid that lists what is wrong with a
// vault request, in the words of class-validator.
type Rejected []string

func (e Rejected) Error() string { return strings.Join(e, "; ") }
