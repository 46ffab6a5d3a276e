package xlsx

import (
	"math"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestNumbersAsDisplayed(t *testing.T) {
	for _, c := range []struct {
		format string
		value  float64
		want   string
	}{
		{"", 0, "0"}, {"", 0.1 + 0.2, "0.3"}, {"", 123456789012345, "123456789012345"}, {"", -1.5, "-1.5"}, {"", 1e20, "1E+20"}, {"", 1234567.891, "1234567.891"}, {"", 1e-12, "1E-12"},
		{"0", 2.5, "3"}, {"0.0", 9.95, "10.0"}, {"0.00", 1.005, "1.01"}, {"0", 1234.7, "1235"}, {"00000", 42, "00042"}, {"0.00", 3, "3.00"}, {"0.0#", 1.25, "1.25"}, {"0.0#", 1.5, "1.5"}, {"0.##", 2, "2"}, {"#", 0, ""}, {"#.##", 0.5, ".5"},
		{"#,##0", 1234567, "1,234,567"}, {"#,##0", 12, "12"}, {"#,##0.00", -1234.5, "-1,234.50"}, {"#,##0;(#,##0)", -1234, "(1,234)"}, {"#,##0;(#,##0);-", 0, "-"}, {"0;;", -5, ""}, {"#,##0,", 1234567, "1,235"}, {"0.0,,", 12_345_678, "12.3"},
		{"0%", 0.125, "13%"}, {"0.0%", 0.125, "12.5%"}, {"0.00E+00", 12345, "1.23E+04"}, {"0.00E+00", 0.00012, "1.20E-04"}, {"0E-0", 0, "0E0"},
		{`#,##0.00 "€"`, 1234.5, "1,234.50 €"}, {"[$€-407] #,##0.00", 5, "€ 5.00"}, {`[Red]-0.0" kg"`, 2, "-2.0 kg"}, {`_($* #,##0.00_)`, 7, "$7.00"}, {`\#0`, 7, "#7"}, {"$#,##0.00", 1e6, "$1,000,000.00"},
		{"000-00-0000", 123456789, "123-45-6789"}, {"(000) 000-0000", 5551234567, "(555) 123-4567"},
		{"# ?/?", 1.25, "1 1/4"}, {"# ??/??", 3.14159, "3 14/99"}, {"# ?/8", 0.5, "4/8"}, {"?/?", 1.5, "3/2"}, {"# ?/?", 2, "2"},
		{"[>=1000]0.0,\"k\";0", 1500, "1.5k"}, {"[>=1000]0.0,\"k\";0", 15, "15"}, {"[<0]\"loss \"0;[=0]\"even\";0", -3, "loss 3"}, {"[<0]\"loss \"0;[=0]\"even\";0", 0, "even"},
		{`General" kg"`, 2.5, "2.5 kg"}, {"@", 7, "7"}, {"yyyy-mm-dd", 45356, "2024-03-05"}, {"d. mmmm yyyy", 45356, "5. March 2024"}, {"ddd d/m/yy", 45356, "Tue 5/3/24"}, {"mmmmm", 45356, "M"},
		{"yyyy-mm-dd hh:mm:ss", 45356.5625, "2024-03-05 13:30:00"}, {"h:mm AM/PM", 0.5625, "1:30 PM"}, {"h:mm a/p", 0, "12:00 A"}, {"mm:ss.0", 1.0 / 1440, "01:00.0"}, {"[h]:mm:ss", 1.25, "30:00:00"}, {"[mm]:ss", 1.0 / 24, "60:00"},
		{"m/d/yyyy", 1, "1/1/1900"}, {"m/d/yyyy", 61, "3/1/1900"}, {"yyyy", -5, "-5"}, {"yyyy", 1e9, "1000000000"}, {"hh:mm", 45356.999999, "00:00"}, {"yyyy\\年m\\月", 45356, "2024年3月"}, {"[$-409]d-mmm-yy;@", 45356, "5-Mar-24"},
	} {
		if got := parseFormat(c.format).number(c.value, false); got != c.want {
			t.Errorf("%q of %v = %q, want %q", c.format, c.value, got, c.want)
		}
	}
	if got := parseFormat("yyyy-mm-dd").number(0, true); got != "1904-01-01" {
		t.Errorf("day 0 since 1904 = %s", got)
	}
	for _, c := range [][3]string{{"0", "a", "a"}, {"@", "a", "a"}, {`0;0;0;"<"@">"`, "a", "<a>"}, {`"No. "@`, "a", "No. a"}, {"0;0;0;", "a", ""}} {
		if got := parseFormat(c[0]).text(c[1]); got != c[2] {
			t.Errorf("%q of the text %q = %q, want %q", c[0], c[1], got, c[2])
		}
	}
}

func TestStringTable(t *testing.T) {
	var table stringTable
	long := strings.Repeat("long text ", 150_000) // longer than a block
	want := []string{"", "a", long, "é", strings.Repeat("x", blockBytes-5), "over the end of a block"}
	for range blockEnds / 3 {
		want = append(want, "ab", "", "c")
	}
	for _, text := range want {
		if !table.add(text) {
			t.Fatal("the table is full")
		}
	}
	for i, text := range want {
		if got := table.get(i); got != text {
			t.Fatalf("text %d has %d bytes, want %d", i, len(got), len(text))
		}
	}
	if table.get(-1) != "" || table.get(len(want)) != "" {
		t.Error("texts that do not exist are not empty")
	}
	for n := 0; table.add(long); n++ {
		if n > maxStringBytes/len(long) {
			t.Fatal("the table has no limit")
		}
	}
}

func FuzzNumberFormat(f *testing.F) {
	for _, code := range []string{"", "#,##0.00;[Red](#,##0.00)", "[h]:mm:ss.00 AM/PM", "# ??/16", "0.0E+00", `"a\`, "[$€-407", "General;@", "?/?/?", "[>1]0;[<-1]#", "yyyy年mm月"} {
		f.Add(code, 1234.5)
	}
	f.Fuzz(func(t *testing.T, code string, v float64) {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return
		}
		format := parseFormat(code)
		if got := format.number(v, false) + format.number(-v, true) + format.text("text"); len(got) > 4096 || utf8.ValidString(code) && !utf8.ValidString(got) {
			t.Errorf("%q of %v = %q", code, v, got)
		}
	})
}
