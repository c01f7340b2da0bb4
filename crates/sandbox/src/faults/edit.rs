//! Changes a response as a rule says, as far as it stays a valid answer.

use std::io;

use bytes::Bytes;
use serde_json::Value;

use super::Reply;
use super::bomb::bomb;
use crate::answer::Answer;

impl Reply {
    /// Body first, then the headers, so that a script has the last word on them.
    pub(super) fn edit(&self, answer: &mut Answer) -> io::Result<()> {
        if let Some(status) = self.status {
            answer.status = status;
        }
        if let Some(body) = self.new_body() {
            remove(answer, "content-encoding");
            answer.body = body;
        }
        if let Some(mebibytes) = self.gzip_bomb_mb {
            remove(answer, "content-encoding");
            answer.body = bomb(mebibytes)?.into();
            let encoding = ("content-encoding".into(), "gzip".into());
            answer.headers.push(encoding);
        } else if self.gzip && !has(answer, "content-encoding") {
            answer.gzip()?;
        }
        for (name, values) in &self.headers {
            remove(answer, name);
            for value in values.as_slice() {
                let header = (name.clone().into(), value.clone().into());
                answer.headers.push(header);
            }
        }
        for name in &self.omit_headers {
            remove(answer, name);
        }
        Ok(())
    }

    fn new_body(&self) -> Option<Bytes> {
        let text = self.body.as_ref().map(|body| match body {
            Value::String(text) => text.clone().into(),
            other => other.to_string().into(),
        });
        self.body_base64.clone().or(text)
    }
}

pub(super) fn has(answer: &Answer, name: &str) -> bool {
    let mut names = answer.headers.iter().map(|(name, _)| name);
    names.any(|other| other.eq_ignore_ascii_case(name))
}

fn remove(answer: &mut Answer, name: &str) {
    answer
        .headers
        .retain(|(other, _)| !other.eq_ignore_ascii_case(name));
}
