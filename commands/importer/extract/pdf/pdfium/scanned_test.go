package pdfium

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

const (
	english = "Annals keeps an append only log of events and builds everything else from it. Commands append events; projections fold the log into read models; queries read only these. " +
		"This page says where each step happens and which rules always hold. The reply is sent when all events are durable and the job can be read again, or after five seconds at most. " +
		"A crash before that moment leaves only originals to which nothing refers, while a later crash loses nothing whatsoever."
	polish = "Wszyscy ludzie rodza sie wolni i rowni pod wzgledem swej godnosci i swych praw. Sa oni obdarzeni rozumem i sumieniem i powinni postepowac wobec innych w duchu braterstwa. " +
		"Kazdy czlowiek posiada wszystkie prawa i wolnosci zawarte w niniejszej deklaracji bez wzgledu na jakiekolwiek roznice rasy koloru plci jezyka wyznania pogladow politycznych i innych"
	croatian = "Sva ljudska bica radjaju se slobodna i jednaka u dostojanstvu i pravima. Ona su obdarena razumom i svijescu i trebaju jedna prema drugima postupati u duhu bratstva. " +
		"Svakome pripadaju sva prava i slobode utvrdjene u ovoj deklaraciji bez ikakve razlike glede rase boje koze spola jezika vjere politickog misljenja nacionalnog podrijetla rodjenja vlasnistva " +
		"krv smrt prst vrt trn crkva drvo grlo vrba zrcalo ptica snijeg"
	code = "#include <stdio.h> int main(void) { printf(\"%d\\n\", x->y[3] & 0xff); return !!strcmp(argv[1], \"--help\"); } #define MAX(a,b) ((a)>(b)?(a):(b)) struct fs_ctx *ctx = kmalloc(sizeof(*ctx), GFP_KERNEL); if (!ctx) goto err;"
)

// typeset returns a content stream with a text in lines of the font.
func typeset(font, text string, width int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "BT /%s 10 Tf 72 700 Td ", font)
	line := ""
	flush := func() {
		fmt.Fprintf(&b, "(%s) Tj 0 -13 Td ", strings.NewReplacer("\\", "\\\\", "(", "\\(", ")", "\\)").Replace(line))
		line = ""
	}
	for word := range strings.FieldsSeq(text) {
		if line += word + " "; len(line) > width {
			flush()
		}
	}
	flush()
	b.WriteString("ET\n")
	return b.String()
}

func TestScannedPages(t *testing.T) {
	picture := stream("/Type /XObject /Subtype /Image /Width 1 /Height 1 /ColorSpace /DeviceGray /BitsPerComponent 8", "\x80")
	plain := map[byte]string{}
	for code := byte(' '); code < 0x7f; code++ {
		plain[code] = string(rune(code))
	}
	mapped := func(change func(r rune) rune) []string {
		font := map[byte]string{}
		for code, s := range plain {
			if font[code] = s; code != ' ' {
				font[code] = string(change([]rune(s)[0]))
			}
		}
		return mappedFont(font)
	}
	shifted := mapped(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z':
			return 'a' + (r-'a'+23)%26
		case r >= 'A' && r <= 'Z':
			return 'A' + (r-'A'+23)%26
		}
		return r
	})
	scan := stream("/Type /XObject /Subtype /Image /Width 800 /Height 600 /ColorSpace /DeviceGray /BitsPerComponent 1", strings.Repeat("\xaa", 800/8*600))
	caesar := strings.Repeat(strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' {
			return 'a' + (r-'a'+3)%26
		}
		return r
	}, english[:150]), 4)
	const full, half = "q 612 0 0 792 0 0 cm /Im Do Q\n", "q 400 0 0 300 100 200 cm /Im Do Q\n"
	var letters, rectangles strings.Builder
	for i := range 100 {
		x, y := 72+i%20*10, 700-i/20*14
		fmt.Fprintf(&letters, "%d %d m %d %d l %d %d l %d %d l %d %d l %d %d l %d %d l %d %d l h f\n", x, y, x+6, y, x+6, y+2, x+2, y+2, x+2, y+4, x+6, y+4, x+6, y+9, x, y+9)
		fmt.Fprintf(&rectangles, "%d %d 8 10 re S\n", x, y)
	}
	nonsense := strings.Repeat("tlne q|v~ie rrnn,~x bkwzt lI|l1 ~~ii xzcvb ;:^o mnbvt ", 8)
	r := readersOf(t, "serve", Config{Processes: 1})
	for name, c := range map[string]struct {
		content string
		objects []string
		scanned bool
		typed   bool
		blank   bool
	}{
		"nothing":                      {content: "", blank: true},
		"picture":                      {content: full, objects: []string{picture}, scanned: true},
		"small picture":                {content: half, objects: []string{picture}, scanned: true},
		"inline picture":               {content: "q 600 0 0 700 0 0 cm BI /W 1 /H 1 /CS /G /BPC 8 ID \x80 EI Q", scanned: true},
		"picture in a form":            {content: full, objects: []string{stream("/Type /XObject /Subtype /Form /BBox [0 0 1 1] /Resources << /XObject << /P 7 0 R >> >>", "/P Do"), picture}, scanned: true},
		"picture with a stamp":         {content: full + "BT /F1 8 Tf 72 20 Td (Downloaded on Monday, page 3) Tj ET", objects: []string{picture}, scanned: true, typed: true},
		"picture with a notice":        {content: full + strings.ReplaceAll(typeset("F1", english[:250], 130), "10 Tf 72 700", "7 Tf 72 30"), objects: []string{picture}, scanned: true, typed: true},
		"picture with a watermark":     {content: full + "BT /F1 9 Tf 72 400 Td (SCANNED BY A TRIAL VERSION - www.example.com) Tj ET", objects: []string{picture}, scanned: true, typed: true},
		"scan below typed text":        {content: half + typeset("F1", english, 80), objects: []string{scan}, scanned: true, typed: true},
		"layer of a recognition":       {content: full + "3 Tr " + typeset("F1", english, 80), objects: []string{picture}},
		"short layer":                  {content: full + "3 Tr BT /F1 9 Tf 72 400 Td (A title of a book) Tj ET", objects: []string{picture}},
		"shifted layer":                {content: full + "3 Tr " + typeset("F1", caesar, 80), objects: []string{picture}, scanned: true},
		"layer with digits in words":   {content: full + "3 Tr " + typeset("F1", strings.NewReplacer("e", "c", "i", "1", "n", "r1").Replace(english), 80), objects: []string{picture}, scanned: true},
		"slide with a background":      {content: full + "BT /F1 30 Tf 72 400 Td (A talk) Tj ET", objects: []string{picture}},
		"text over a picture":          {content: full + typeset("F1", english, 80), objects: []string{picture}},
		"text beside a picture":        {content: half + typeset("F1", english, 80), objects: []string{picture}},
		"nonsense over a picture":      {content: full + "3 Tr " + typeset("F1", nonsense, 60), objects: []string{picture}, scanned: true},
		"nonsense without picture":     {content: typeset("F1", nonsense, 60)},
		"letters drawn as shapes":      {content: letters.String(), scanned: true},
		"rectangles":                   {content: rectangles.String(), blank: true},
		"English":                      {content: typeset("F1", english, 80)},
		"Polish":                       {content: typeset("F1", polish, 80)},
		"Croatian":                     {content: typeset("F1", croatian, 80)},
		"program":                      {content: full + typeset("F1", strings.Repeat(code, 4), 80), objects: []string{picture}},
		"hexadecimal":                  {content: typeset("F1", strings.Repeat("ffd8ffe000104a46 494600010100 d8bc ", 30), 80)},
		"numbers":                      {content: full + typeset("F1", strings.Repeat("1,234.50 17 -3 2024-05-06 ", 20), 80), objects: []string{picture}},
		"codes":                        {content: full + typeset("F1", strings.Repeat("XKCD-12 GBP BMWG.F HSBC RWTH KLMN ", 20), 80), objects: []string{picture}},
		"letters of a private use":     {content: typeset("F2", english, 80), objects: mapped(func(r rune) rune { return 0xe000 + r }), scanned: true},
		"shifted letters":              {content: typeset("F2", english, 80), objects: shifted, scanned: true},
		"Cyrillic as Latin-1":          {content: typeset("F2", english, 80), objects: mapped(func(r rune) rune { return 0xc0 + r%0x3f }), scanned: true},
		"Greek":                        {content: typeset("F2", english, 80), objects: mapped(func(r rune) rune { return 0x3b1 + r%24 })},
		"Chinese":                      {content: typeset("F2", english, 80), objects: mapped(func(r rune) rune { return 0x4e00 + r })},
		"mapped letters":               {content: typeset("F2", english, 80), objects: mappedFont(plain)},
		"a few letters of private use": {content: typeset("F1", english, 80) + "BT /F2 10 Tf 72 100 Td (abc def) Tj ET", objects: mapped(func(r rune) rune { return 0xe000 + r })},
	} {
		p := onlyPageBy(t, r, textPDF(t, c.content, "/F2 6 0 R", "", "", c.objects...))
		if p.Scanned != c.scanned || p.Typed != c.typed || p.Blank != c.blank || p.Broken {
			t.Errorf("%s: scanned %t, typed %t, blank %t, broken %t; want %t, %t, %t; lines %.3q", name, p.Scanned, p.Typed, p.Blank, p.Broken, c.scanned, c.typed, c.blank, textsOf(p))
		}
	}
}

// The time for drawing scanned pages does not count as time for reading the file.
func TestDrawingScannedPagesMayTakeLong(t *testing.T) {
	r := readersOf(t, "scans", Config{Processes: 1, Time: 3 * time.Second})
	f, err := os.Open(linePDF(t, "any file"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var visited []int
	err = r.Read(t.Context(), File{File: f, Scan: func(ctx context.Context, page []byte, draw Draw) (<-chan []byte, error) {
		p, err := DecodePage(page)
		if err != nil {
			return nil, err
		}
		later := make(chan []byte, 1)
		later <- page
		_, err = draw(ctx, Drawing{Page: p.Number, Width: 1, Grey: true, Raw: true})
		return later, err
	}}, Visitor{Document: func(int, []byte) error { return nil }, Page: func(number int, _ []byte) error {
		visited = append(visited, number)
		return nil
	}})
	if err != nil || len(visited) != scannedPages {
		t.Errorf("Read = %v after pages %v, want all %d", err, visited, scannedPages)
	}
}
