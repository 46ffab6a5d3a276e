package pdfium

import (
	"crypto/md5"
	"crypto/rc4"
	"fmt"
	"slices"
	"strings"
	"testing"

	"annals/events/fault"
)

func TestNotes(t *testing.T) {
	const widget = "/Type /Annot /Subtype /Widget /F 4 /P 3 0 R "
	annots := []string{
		"<< " + widget + "/FT /Tx /T (Name) /V (Ada Lovelace) /Rect [100 650 300 670] >>",
		"<< " + widget + "/FT /Tx /T (Empty) /Rect [100 650 300 670] >>",
		"<< " + widget + "/FT /Tx /T (form1[0].Page1[0].City[0]) /TU (Your city:) /V (London) /Rect [100 620 300 640] >>",
		"<< " + widget + "/FT /Tx /T (form1[0].Street[0]) /V (12 High St) /Rect [100 620 300 640] >>",
		"<< /Type /Annot /Subtype /Widget /F 2 /P 3 0 R /FT /Tx /T (Hidden) /V (secret) /Rect [100 600 300 620] >>",
		"<< " + widget + "/FT /Btn /T (c1) /V /Yes /AS /Yes /AP << /N << /Yes 20 0 R /Off 20 0 R >> >> /Rect [100 500 112 512] >>",
		"<< " + widget + "/FT /Btn /T (c2) /V /Off /AS /Off /AP << /N << /Yes 20 0 R /Off 20 0 R >> >> /Rect [100 480 112 492] >>",
		"<< " + widget + "/FT /Btn /T (Consent) /V /Yes /AS /Yes /AP << /N << /Yes 20 0 R /Off 20 0 R >> >> /Rect [400 300 412 312] >>",
		"<< " + widget + "/FT /Btn /Ff 32768 /T (Size) /V /L /AS /L /AP << /N << /L 20 0 R /Off 20 0 R >> >> /Rect [100 520 112 532] >>",
		"<< " + widget + "/FT /Ch /Ff 131072 /T (Country) /V (gb) /Opt [[(de) (Germany)] [(gb) (United Kingdom)]] /Rect [100 400 300 420] >>",
		"<< " + widget + "/FT /Ch /Ff 2097152 /T (Colours) /V [(red) (blue)] /Opt [(red) (green) (blue)] /Rect [100 340 300 400] >>",
		"<< /Type /Annot /Subtype /Text /T (Alice) /Contents (Is this right?) /Rect [10 10 20 20] >>",
		"<< /Type /Annot /Subtype /Text /T (Bob) /Contents (Yes.) /IRT 17 0 R /Rect [10 10 20 20] >>",
		"<< /Type /Annot /Subtype /Text /T (Bob) /Contents (Accepted set by Bob) /StateModel (Review) /State (Accepted) /Rect [10 10 20 20] >>",
	}
	objects := []string{}
	refs := ""
	for i, a := range annots {
		objects = append(objects, a)
		refs += fmt.Sprintf("%d 0 R ", 6+i)
	}
	objects = append(objects,
		stream("/Type /XObject /Subtype /Form /BBox [0 0 12 12]", ""),
		"<< /Type /Annot /Subtype /FreeText /DA (/F1 10 Tf) /RC (<body><p>Typed &amp; styled</p></body>) /Rect [10 10 200 30] >>",
		"<< /Type /Annot /Subtype /Stamp /Name /Approved /Rect [10 10 200 30] >>",
		"<< /Type /Annot /Subtype /Stamp /Name /#Ab12 /Contents (Paid in full) /Rect [10 10 200 30] >>",
		"<< /Type /Filespec /F (data.csv) /UF (data.csv) /EF << /F 25 0 R >> >>",
		stream("/Type /EmbeddedFile", "a,b"),
	)
	content := "BT /F1 10 Tf 116 502 Td (I agree to the terms) Tj ET BT /F1 10 Tf 116 522 Td (Large) Tj ET BT /F1 10 Tf 116 482 Td (Send me news) Tj ET"
	p := onlyPage(t, textPDF(t, content, "", "/Annots ["+refs+"21 0 R 22 0 R 23 0 R]",
		"/AcroForm << /Fields [6 0 R 7 0 R 8 0 R 9 0 R 10 0 R 11 0 R 12 0 R 13 0 R 14 0 R 15 0 R 16 0 R] >> /Names << /EmbeddedFiles << /Names [(data.csv) 24 0 R] >> >>", objects...))
	want := []string{"Name: Ada Lovelace", "Your city: London", "Street: 12 High St", "I agree to the terms: Yes", "Consent: Yes", "Size: Large", "Country: United Kingdom", "Colours: red, blue",
		"Alice: Is this right?", "Bob: Yes.", "Typed & styled", "Approved", "Paid in full", "Attached file: data.csv"}
	if !slices.Equal(p.Notes, want) {
		t.Errorf("notes\n%q, want\n%q", p.Notes, want)
	}
}

// encryptedPDF writes a PDF that is encrypted with RC4 and 40 bits, and returns its path.
func encryptedPDF(t *testing.T, userPassword string) string {
	pad := "\x28\xbf\x4e\x5e\x4e\x75\x8a\x41\x64\x00\x4e\x56\xff\xfa\x01\x08\x2e\x2e\x00\xb6\xd0\x68\x3e\x80\x2f\x0c\xa9\xfe\x64\x53\x69\x7a"
	crypt := func(key []byte, s string) []byte {
		c, err := rc4.NewCipher(key)
		if err != nil {
			t.Fatal(err)
		}
		out := make([]byte, len(s))
		c.XORKeyStream(out, []byte(s))
		return out
	}
	user := (userPassword + pad)[:32]
	owner := md5.Sum([]byte(("owner" + pad)[:32]))
	o := crypt(owner[:5], user)
	id := "0123456789abcdef"
	sum := md5.Sum([]byte(user + string(o) + "\xfc\xff\xff\xff" + id))
	key := sum[:5]
	content := "BT /F1 12 Tf 100 700 Td (secret text) Tj ET"
	object := md5.Sum(append(key[:5:5], 5, 0, 0, 0, 0)) // object 5, generation 0
	path := objectsPDF(t,
		"<< /Type /Catalog /Pages 2 0 R >>",
		"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
		"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 5 0 R /Resources << /Font << /F1 4 0 R >> >> >>",
		"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
		stream("", string(crypt(object[:10], content))),
		fmt.Sprintf("<< /Filter /Standard /V 1 /R 2 /P -4 /O <%x> /U <%x> >>\nendobj\ntrailer << /Size 7 /Root 1 0 R /Encrypt 6 0 R /ID [<%x> <%x>] >>\n7 0 obj\nnull", o, crypt(key, pad), id, id))
	return path
}

func TestEncryptedFiles(t *testing.T) {
	if got := textsOf(onlyPage(t, encryptedPDF(t, ""))); !slices.Equal(got, []string{"secret text"}) {
		t.Errorf("lines of a file with an empty user password: %q", got)
	}
	_, err := pagesOf(t.Context(), readersOf(t, "serve", Config{Processes: 1}), encryptedPDF(t, "user"))
	if !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), "protected by a password") {
		t.Errorf("Read of a file with a user password: %v", err)
	}
}
