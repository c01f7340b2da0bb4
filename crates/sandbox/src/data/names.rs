//! Invented people in the scripts that a client has to carry: each name as it is written, and in plain letters.

use super::Rng;
use super::json::{integer, string};

/// A name as written, and for e-mail addresses.
type Name = (&'static str, &'static str);

/// Names that go together, and a place.
#[derive(Clone, Copy)]
pub(super) struct Culture {
    given: &'static [Name],
    family: &'static [Name],
    pub(super) city: &'static str,
    pub(super) country: &'static str,
    pub(super) language: &'static str,
    /// Latitude and longitude, with more digits than anyone needs.
    pub(super) coordinates: &'static str,
}

/// Somebody of sample data.
pub(super) struct Person {
    pub(super) culture: Culture,
    given: Name,
    family: Name,
}

impl Person {
    pub(super) fn random(rng: &mut Rng) -> Self {
        let culture = rng.pick(CULTURES);
        Self {
            culture,
            given: rng.pick(culture.given),
            family: rng.pick(culture.family),
        }
    }

    pub(super) fn first_name(&self) -> &'static str {
        self.given.0
    }

    pub(super) fn last_name(&self) -> &'static str {
        self.family.0
    }

    /// An address that cannot be anyone's: the example domains are reserved.
    pub(super) fn write_email(&self, number: u64, out: &mut Vec<u8>) {
        out.push(b'"');
        out.extend_from_slice(self.given.1.as_bytes());
        out.push(b'.');
        out.extend_from_slice(self.family.1.as_bytes());
        out.push(b'.');
        integer(out, number);
        let domain = ["@example.com\"", "@example.org\"", "@example.net\""][number as usize % 3];
        out.extend_from_slice(domain.as_bytes());
    }

    pub(super) fn write_full_name(&self, out: &mut Vec<u8>) {
        string(out, self.given.0);
        out.pop();
        out.push(b' ');
        out.extend_from_slice(self.family.0.as_bytes());
        out.push(b'"');
    }
}

const CULTURES: &[Culture] = &[
    Culture {
        given: &[
            ("Zoë", "zoe"),
            ("Renée", "renee"),
            ("François", "francois"),
            ("Noël", "noel"),
        ],
        family: &[
            ("Lefèvre", "lefevre"),
            ("D'Angélys", "dangelys"),
            ("Garçon", "garcon"),
            ("Hébert", "hebert"),
        ],
        city: "Orléans",
        country: "FR",
        language: "fr",
        coordinates: "[47.902733700000001,1.9086065999999999]",
    },
    Culture {
        given: &[
            ("Jürgen", "juergen"),
            ("Käthe", "kaethe"),
            ("Sören", "soeren"),
            ("Anneliese", "anneliese"),
        ],
        family: &[
            ("Groß", "gross"),
            ("Müller-Lüdenscheidt", "mueller-luedenscheidt"),
            ("Schäfer", "schaefer"),
            ("Weiß", "weiss"),
        ],
        city: "Würzburg",
        country: "DE",
        language: "de",
        coordinates: "[49.79245,9.932966]",
    },
    Culture {
        given: &[
            ("Begoña", "begona"),
            ("Íñigo", "inigo"),
            ("José Ángel", "jose.angel"),
            ("Lucía", "lucia"),
        ],
        family: &[
            ("Núñez", "nunez"),
            ("Ibáñez Peña", "ibanez.pena"),
            ("Güell", "guell"),
            ("Muñoz", "munoz"),
        ],
        city: "Logroño",
        country: "ES",
        language: "es",
        coordinates: "[42.462719,-2.4449852]",
    },
    Culture {
        given: &[
            ("Łucja", "lucja"),
            ("Żaneta", "zaneta"),
            ("Grzegorz", "grzegorz"),
            ("Świętosława", "swietoslawa"),
        ],
        family: &[
            ("Wójcik", "wojcik"),
            ("Dąbrowska", "dabrowska"),
            ("Brzęczyszczykiewicz", "brzeczyszczykiewicz"),
            ("Kość", "kosc"),
        ],
        city: "Łódź",
        country: "PL",
        language: "pl",
        coordinates: "[51.759248499999998,19.4559833]",
    },
    Culture {
        given: &[
            ("Олена", "olena"),
            ("Дмитро", "dmytro"),
            ("Людмила", "liudmyla"),
            ("Юрій", "yurii"),
        ],
        family: &[
            ("Шевчук", "shevchuk"),
            ("Бондаренко", "bondarenko"),
            ("Їжакевич", "yizhakevych"),
            ("Щербак", "shcherbak"),
        ],
        city: "Львів",
        country: "UA",
        language: "uk",
        coordinates: "[49.839683,24.029717]",
    },
    Culture {
        given: &[
            ("Ελένη", "eleni"),
            ("Γιώργος", "giorgos"),
            ("Χρυσούλα", "chrysoula"),
            ("Θανάσης", "thanasis"),
        ],
        family: &[
            ("Παπαδόπουλος", "papadopoulos"),
            ("Ψαρράς", "psarras"),
            ("Οικονόμου", "oikonomou"),
            ("Ξενάκης", "xenakis"),
        ],
        city: "Θεσσαλονίκη",
        country: "GR",
        language: "el",
        coordinates: "[40.6400629,22.9444191]",
    },
    Culture {
        given: &[
            ("فاطمة", "fatima"),
            ("محمد", "muhammad"),
            ("ليلى", "layla"),
            ("يوسف", "yusuf"),
        ],
        family: &[
            ("الخطيب", "alkhatib"),
            ("حدّاد", "haddad"),
            ("المصري", "almasri"),
            ("بن عيسى", "ben.issa"),
        ],
        city: "الإسكندرية",
        country: "EG",
        language: "ar",
        coordinates: "[31.2000924,29.9187387]",
    },
    Culture {
        given: &[
            ("प्रिया", "priya"),
            ("अर्जुन", "arjun"),
            ("लक्ष्मी", "lakshmi"),
            ("विक्रम", "vikram"),
        ],
        family: &[
            ("शर्मा", "sharma"),
            ("त्रिपाठी", "tripathi"),
            ("चौधरी", "chaudhary"),
            ("मिश्र", "mishra"),
        ],
        city: "वाराणसी",
        country: "IN",
        language: "hi",
        coordinates: "[25.3176452,82.9739144]",
    },
    Culture {
        given: &[
            ("小明", "xiaoming"),
            ("静怡", "jingyi"),
            ("𠮷祥", "jixiang"),
            ("伟", "wei"),
        ],
        family: &[
            ("王", "wang"),
            ("欧阳", "ouyang"),
            ("陈", "chen"),
            ("诸葛", "zhuge"),
        ],
        city: "成都",
        country: "CN",
        language: "zh",
        coordinates: "[30.572815,104.066801]",
    },
    Culture {
        given: &[
            ("さくら", "sakura"),
            ("健太郎", "kentaro"),
            ("美咲", "misaki"),
            ("リョウ", "ryo"),
        ],
        family: &[
            ("渡邉", "watanabe"),
            ("髙橋", "takahashi"),
            ("佐々木", "sasaki"),
            ("小野寺", "onodera"),
        ],
        city: "札幌",
        country: "JP",
        language: "ja",
        coordinates: "[43.0617713,141.3544507]",
    },
    Culture {
        given: &[
            ("서연", "seoyeon"),
            ("민준", "minjun"),
            ("하늘", "haneul"),
            ("도윤", "doyun"),
        ],
        family: &[
            ("김", "kim"),
            ("남궁", "namgung"),
            ("박", "park"),
            ("황보", "hwangbo"),
        ],
        city: "전주",
        country: "KR",
        language: "ko",
        coordinates: "[35.8242238,127.1479532]",
    },
    Culture {
        given: &[
            ("Nguyệt", "nguyet"),
            ("Đức", "duc"),
            ("Thảo", "thao"),
            ("Tuấn", "tuan"),
        ],
        family: &[
            ("Nguyễn", "nguyen"),
            ("Trần", "tran"),
            ("Đặng", "dang"),
            ("Vũ", "vu"),
        ],
        city: "Huế",
        country: "VN",
        language: "vi",
        coordinates: "[16.4637117,107.5908628]",
    },
];
