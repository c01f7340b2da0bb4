#!/bin/sh
# Makes the certificates of the tests of TLS: of an authority; of a service, also expired; and one that signs itself.
# Nobody keeps the key of the authority. The others last until 2126.
set -e
cd "$(dirname "$0")"
work=$(mktemp -d)
openssl ecparam -name prime256v1 -genkey -noout -out "$work/authority.key"
openssl ecparam -name prime256v1 -genkey -noout -out service.key
openssl req -x509 -new -key "$work/authority.key" -subj "/CN=Authority of the tests" -days 36500 -out authority.pem
openssl req -x509 -new -key service.key -subj "/CN=talent.example" -addext "subjectAltName=DNS:talent.example" -days 36500 -out itself.pem
openssl req -new -key service.key -subj "/CN=talent.example" -out "$work/service.csr"
printf 'subjectAltName=DNS:talent.example\nbasicConstraints=CA:FALSE\n' > "$work/names"
printf '[ca]\ndefault_ca=own\n[own]\nnew_certs_dir=%s\ndatabase=%s/index\nserial=%s/serial\ndefault_md=sha256\npolicy=any\nx509_extensions=\n[any]\ncommonName=supplied\n' "$work" "$work" "$work" > "$work/ca.cnf"
sign() {
    : > "$work/index" && echo "$1" > "$work/serial"
    openssl ca -batch -notext -config "$work/ca.cnf" -cert authority.pem -keyfile "$work/authority.key" \
        -in "$work/service.csr" -extfile "$work/names" -startdate "$2" -enddate "$3" -out "$4"
}
sign 01 20260101000000Z 21260101000000Z service.pem
sign 02 20240101000000Z 20240201000000Z expired.pem
rm -r "$work"
