//! A table in Markdown.

/// Rows under titles; the first column is left-aligned, the others to the right.
pub(super) struct Table {
    titles: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(super) fn new<T: Into<String>>(titles: impl IntoIterator<Item = T>) -> Self {
        Table {
            titles: titles.into_iter().map(Into::into).collect(),
            rows: Vec::new(),
        }
    }

    pub(super) fn row<T: Into<String>>(&mut self, cells: impl IntoIterator<Item = T>) {
        self.rows.push(cells.into_iter().map(Into::into).collect());
    }

    pub(super) fn text(&self) -> String {
        let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
        let rule: Vec<String> = (0..self.titles.len())
            .map(|column| if column == 0 { "---" } else { "---:" }.to_owned())
            .collect();
        let rows: String = self.rows.iter().map(|row| line(row)).collect();
        line(&self.titles) + &line(&rule) + &rows
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_table_is_markdown() {
        let mut table = super::Table::new(["a", "b"]);
        table.row(["c", "1"]);
        assert_eq!(table.text(), "| a | b |\n| --- | ---: |\n| c | 1 |\n");
    }
}
