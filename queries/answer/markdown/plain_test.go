package markdown

import "testing"

func TestPlain(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"See the [user *guide*](/doc/guide \"Guide\") and ![a picture](a.png).", "See the user guide and a picture."},
		{"_Ownership_ is **not** `Rc<T>` or max_size of *p.", "Ownership is not Rc<T> or max_size of *p."},
		{"`a*b*c` and `x_y_`", "a*b*c and x_y_"},
		{"E = mc<sup>2</sup> for n < 3 and m > 4", "E = mc2 for n < 3 and m > 4"},
		{"run `cargo\nbuild` **in\nthe** folder", "run cargo\nbuild in\nthe folder"},
		{"* one\n* two * three", "* one\n* two * three"},
		{"> quoted\n> text {#anchor}", "quoted\ntext "},
		{"Run it:\n\n{{#include ../out.txt}}\n\n{{< note >}}The ward{{< /note >}} {% if x %}closes{% endif %} at {{ .Hour }}.", "Run it:\n\n\n\nThe ward closes at {{ .Hour }}."},
		{"The ward closes.\n\n{{image \"plan/ward.svg\" 700}}\n\nIt opens at {{ .Hour }}.", "The ward closes.\n\n\n\nIt opens at {{ .Hour }}."},
		{"```rust\n{{#rustdoc_include ../a.rs:here}}\nfn main() {}\n```\n", "```rust\nfn main() {}\n```\n"},
		{"a cut ` Crate<T> is `safe`, ``too``", "a cut  Crate<T> is safe, too"},
		{"see the [guide of the depot](https://example.org/gui", "see the guide of the depot"},
		{"`{{#include x}}` stays", "{{#include x}} stays"},
		{"1\\. not\\_an item", "1. not_an item"},
		{"```\na [b](c)\n```\n*d*", "```\na [b](c)\n```\nd"},
	} {
		if got := Plain(c.text); got != c.want {
			t.Errorf("Plain(%q): got %q, want %q", c.text, got, c.want)
		}
	}
}

func FuzzPlain(f *testing.F) {
	f.Add("[a](b) *c* `d` <e> \\_ > f")
	f.Add("[[a](b)](c)![](")
	f.Fuzz(func(t *testing.T, text string) {
		if got := Plain(text); len(got) > len(text) {
			t.Errorf("Plain(%q): got %q, which is longer", text, got)
		}
	})
}
