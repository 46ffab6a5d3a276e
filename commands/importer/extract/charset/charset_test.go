package charset_test

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"unicode/utf8"

	"annals/commands/importer/extract"
	"annals/commands/importer/extract/charset"

	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/htmlindex"
)

// texts are texts of one or two sentences, with the encoding that they are written in.
var texts = [][2]string{
	{"windows-1250", "Příliš žluťoučký kůň úpěl ďábelské ódy. V době, kdy se město probouzelo, šel Tomáš přes náměstí.\n"},
	{"windows-1250", "Zażółć gęślą jaźń. Wszyscy ludzie rodzą się wolni i równi pod względem swej godności.\n"},
	{"iso-8859-2", "Příliš žluťoučký kůň úpěl ďábelské ódy. V době, kdy se město probouzelo, šel Tomáš přes náměstí.\n"},
	{"iso-8859-2", "Minden emberi lény szabadon születik és egyenlő méltósága és joga van. Az őszi szőlő.\n"},
	{"windows-1252", "Le café est à l’étage; Müller für größere Stühle – „gut“ und 5 €.\n"},
	{"windows-1252", "Alle Menschen sind frei und gleich an Würde und Rechten geboren. Sie sind mit Vernunft begabt für alle.\n"},
	{"windows-1252", "This is a plain English text that has one dash – and “quotes” in it, nothing else of note.\n"},
	{"windows-1252", "El niño comió piñas en España. ¿Qué pasó después? ¡Nada! Los años vuelan.\n"},
	{"windows-1251", "Все люди рождаются свободными и равными в своем достоинстве и правах.\n"},
	{"koi8-r", "Все люди рождаются свободными и равными в своем достоинстве и правах.\n"},
	{"koi8-u", "Всі люди народжуються вільними і рівними у своїй гідності та правах. Її ґанок.\n"},
	{"ibm866", "Все люди рождаются свободными и равными в своем достоинстве и правах.\n"},
	{"windows-1253", "Όλοι οι άνθρωποι γεννιούνται ελεύθεροι και ίσοι στην αξιοπρέπεια και τα δικαιώματα.\n"},
	{"windows-1254", "Bütün insanlar hür, haysiyet ve haklar bakımından eşit doğarlar. Akıl ve vicdana sahiptirler.\n"},
	{"windows-1255", "כל בני האדם נולדו בני חורין ושווים בערכם ובזכויותיהם.\n"},
	{"windows-1256", "يولد جميع الناس أحرارا متساوين في الكرامة والحقوق. وقد وهبوا عقلا وضميرا.\n"},
	{"shift_jis", "すべての人間は、生まれながらにして自由であり、かつ、尊厳と権利とについて平等である。\n"},
	{"euc-jp", "すべての人間は、生まれながらにして自由であり、かつ、尊厳と権利とについて平等である。\n"},
	{"iso-2022-jp", "すべての人間は、生まれながらにして自由であり、かつ、尊厳と権利とについて平等である。\n"},
	{"gbk", "人人生而自由，在尊严和权利上一律平等。他们赋有理性和良心。\n"},
	{"gbk", "第一章 总则\n本合同由甲乙双方签订。 ABC Company Ltd. signs here.\n"},
	{"big5", "人人生而自由，在尊嚴和權利上一律平等。他們賦有理性和良心。\n"},
	{"euc-kr", "모든 인간은 태어날 때부터 자유로우며 그 존엄과 권리에 있어 동등하다.\n"},
	{"shift_jis", "日本語のテスト。\n"},
	{"windows-1252", "“Hello,” she said.\n"},
	{"windows-1252", "The company’s 2019 results – unaudited\n"},
	{"windows-1252", "word—another word\n"},
	{"windows-1252", "‘single’ quotes\n"},
	{"windows-1252", "wait… what\n"},
	{"windows-1252", "pages 10–12\n"},
	{"windows-1252", "price 5 €\n"},
	{"windows-1252", "© 2020 Foo Inc.\n"},
	{"windows-1252", "Foo® Bar™\n"},
	{"windows-1252", "• item one\n• item two\n"},
	{"windows-1252", "½ cup of milk\n"},
	{"windows-1252", "£100 – £200\n"},
	{"windows-1252", "a naïve idea\n"},
	{"macintosh", "La canción del niño que pasó allí después.\n"},
	{"windows-1251", "Отчёт за 2020 год\n"},
	{"shift_jis", "氏名,部署,都市\n山田花子,総務,横浜\n鈴木一郎,営業,札幌\n"},
	{"windows-1252", "She doesn’t know, and we can’t and won’t say.\n"},
	{"windows-1252", "Prénom,Année,Qualité\nRené,1999,élevée\n"},
	{"ibm866", "ПРИВЕТ, МИР! КАК ДЕЛА?\n"},
	{"gbk", "姓名,部门,城市\n张伟,总务,横滨\n王芳,营业,札幌\n"},
	{"gbk", "中文测试。你好，世界！\n"},
	{"big5", "中文測試。你好，世界！\n"},
	{"euc-kr", "한국어 시험입니다.\n"},
	{"windows-1251", "Привет, мир!\n"},
	{"koi8-r", "Привет, мир! Как дела?\n"},
}

func TestEncodingsAreGuessed(t *testing.T) {
	for _, c := range texts {
		enc, err := htmlindex.Get(c[0])
		if err != nil {
			t.Fatal(err)
		}
		once, err := enc.NewEncoder().Bytes([]byte(c[1]))
		if err != nil {
			t.Fatalf("%s: %v", c[0], err)
		}
		for _, times := range []int{1, 20} {
			content, want := bytes.Repeat(once, times), strings.Repeat(c[1], times)
			if got := charset.Text(content, ""); got != want {
				t.Errorf("Text of %d times %s = %.80q, want %.80q", times, c[0], got, want)
			}
			f := charset.File{File: extract.File{ReaderAt: bytes.NewReader(content), Size: int64(len(content)), Name: "a.txt"}}
			r, err := f.Decode(t.Context())
			if err != nil {
				t.Fatalf("%s: %v", c[0], err)
			}
			if got, err := io.ReadAll(r); err != nil || string(got) != want {
				t.Errorf("Decode of %d times %s = %.80q, %v, want %.80q", times, c[0], got, err, want)
			}
		}
	}
}

// Valid UTF-8 is never taken for something else, whatever a label says.
func TestUTF8IsKept(t *testing.T) {
	for _, c := range texts {
		if got := charset.Text([]byte(c[1]), "windows-1252"); got != c[1] {
			t.Errorf("Text(%q) = %q", c[1], got)
		}
	}
}

func TestTextUsesItsLabel(t *testing.T) {
	content, err := charmap.ISO8859_2.NewEncoder().String("ąśź\n")
	if err != nil {
		t.Fatal(err)
	}
	if got := charset.Text([]byte(content), "ISO-8859-2"); got != "ąśź\n" {
		t.Errorf("Text = %q", got)
	}
	if got := charset.Text([]byte("caf\xe9"), "no-such-charset"); got != "café" {
		t.Errorf("Text with an unknown label = %q", got)
	}
}

func FuzzText(f *testing.F) {
	for _, c := range texts {
		f.Add([]byte(c[1]), c[0])
	}
	f.Add([]byte("\x1b$B\x46\x7c\x1b(B\xff\x00"), "utf-16le")
	f.Fuzz(func(t *testing.T, content []byte, label string) {
		if got := charset.Text(content, label); !utf8.ValidString(got) {
			t.Errorf("Text(%q, %q) = %q, which is not valid UTF-8", content, label, got)
		}
	})
}
