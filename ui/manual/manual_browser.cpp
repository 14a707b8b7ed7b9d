// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/manual/manual_browser.h"

#include <QAbstractTextDocumentLayout>
#include <QDir>
#include <QFileInfo>
#include <QKeyEvent>
#include <QMimeData>
#include <QPainter>
#include <QPointer>
#include <QScrollBar>
#include <QSet>
#include <QTextBlock>
#include <QTextDocumentFragment>
#include <algorithm>
#include <utility>

#include "ui/manual/page_document.h"
#include "ui/theme/theme.h"

namespace trainyard::ui {
namespace {

constexpr int kLineCharacters = 90,
              kPageCharacters = 124;  // characters per line: text; tables and code

// Returns the path to which a link leads, relative to the directory of the manual. `file` is the
// page that contains the link.
QString resolved(const std::string& file, const QString& target) {
  return QDir::cleanPath(QFileInfo(to_qstring(file)).path() + "/" + target);
}

}  // namespace

ManualBrowser::ManualBrowser(const manual::Manual& manual, const QString& directory,
                             QWidget* parent)
    : QTextBrowser(parent), manual_(manual), directory_(directory) {
  setOpenLinks(false);
  setFrameShape(QFrame::NoFrame);
  setAccessibleName(tr("Manual page"));
  setWordWrapMode(QTextOption::WordWrap);  // also applies to documents that are set later
  setTextInteractionFlags(Qt::TextBrowserInteraction);
  // Always shows the scroll bar, so that all pages have the same width.
  setVerticalScrollBarPolicy(Qt::ScrollBarAlwaysOn);
  delay_timer_.setSingleShot(true);
  delay_timer_.setInterval(0);
  connect(&delay_timer_, &QTimer::timeout, this, &ManualBrowser::render_again);
  connect(verticalScrollBar(), &QScrollBar::actionTriggered, this, [this] { at_place_ = false; });
  connect(&Theme::instance(), &Theme::changed, &delay_timer_, qOverload<>(&QTimer::start));
  connect(this, &QTextBrowser::anchorClicked, this, &ManualBrowser::follow);
}

void ManualBrowser::show_place(const manual::ManualLocation& place) {
  if (!now_.place.file.empty() && now_.place != place) {
    back_.push_back({now_.place, verticalScrollBar()->value()});
    forward_.clear();
  }
  words_.clear();
  visit({place, -1});
}

void ManualBrowser::go_back() {
  if (back_.empty()) return;
  forward_.push_back({now_.place, verticalScrollBar()->value()});
  visit(std::exchange(back_.back(), {}));
  back_.pop_back();
  emit place_changed();
}

void ManualBrowser::go_forward() {
  if (forward_.empty()) return;
  back_.push_back({now_.place, verticalScrollBar()->value()});
  visit(std::exchange(forward_.back(), {}));
  forward_.pop_back();
  emit place_changed();
}

// Shows a location in the manual. If `visit.scrolled` is negative, scrolls to the section of the
// location, otherwise to that position.
void ManualBrowser::visit(const Visit& visit) {
  now_ = visit;
  if (rendered_ != to_qstring(now_.place.file)) render();
  at_place_ = visit.scrolled < 0;
  if (at_place_) scroll_to(now_.place);
  else verticalScrollBar()->setValue(visit.scrolled);
  highlight_words(words_);
  emit place_changed();
}

QString ManualBrowser::page_title() const {
  const manual::Page* page = manual_.page(now_.place.file);
  return page ? to_qstring(page->title) : QString();
}

void ManualBrowser::render() {
  const manual::Page* page = manual_.page(now_.place.file);
  if (!page) return;
  rendered_ = to_qstring(page->file);
  // Formats the page before it is shown, so that Qt lays it out only once.
  auto* formatted = new QTextDocument(this);
  formatted->setUndoRedoEnabled(false);
  formatted->setMarkdown(markdown_of(*page));
  format_page(*formatted, widths());
  fit_width(*formatted);
  formatted->setTextWidth(viewport()->width());
  setExtraSelections({});  // removes the selections of the old document
  const QPointer<QTextDocument> before = document();
  setDocument(formatted);  // deletes the previous document only if Qt created it
  delete before.data();
  // Ignores a horizontal excess of a few pixels. Qt makes some tables a pixel wider than the text,
  // and this needs no scroll bar.
  const bool fits = document()->size().width() <= viewport()->width() + kGrid;
  setHorizontalScrollBarPolicy(fits ? Qt::ScrollBarAlwaysOff : Qt::ScrollBarAsNeeded);
  if (fits) horizontalScrollBar()->setRange(0, 0);
  headings_ = headings_of(*document(), *page);
  highlight_words(words_);
}

PageWidths ManualBrowser::widths() const {
  const int margin = Theme::instance().pixels(2 * kGrid),
            available = std::max(kGrid, viewport()->width() - 2 * margin);
  const QFont& font = Theme::instance().font();
  return {std::min(available, column_width(font, kPageCharacters)),
          std::min(available, column_width(font, kLineCharacters))};
}

// Centers the page, and fits pictures to it.
void ManualBrowser::fit_width(QTextDocument& page) {
  page.setDocumentMargin(0);
  set_margins(page, std::max(0, viewport()->width() - widths().page) / 2,
              Theme::instance().pixels(2 * kGrid));
  fit_pictures(page, widths().page, [this](const QString& name) { return picture(name).size(); });
}

// Returns the first occurrence of a word after position `from`. The word is also found in tables,
// where code contains zero-width spaces. Null if there is no occurrence.
QTextCursor ManualBrowser::find_word(const QString& word, int from) const {
  QTextCursor first;
  if (word.isEmpty()) return first;
  for (const QString& form : QSet<QString>{word, breakable(word)})
    if (const QTextCursor found = document()->find(form, from);
        !found.isNull() && (first.isNull() || found.position() < first.position()))
      first = found;
  return first;
}

void ManualBrowser::scroll_to(const manual::ManualLocation& place) {
  const auto heading = headings_.find(to_qstring(place.slug));
  if (place.slug.empty() || heading == headings_.end()) return verticalScrollBar()->setValue(0);
  QTextBlock block = heading->second;
  const QTextCursor word = find_word(to_qstring(place.word), block.position() + block.length());
  if (!word.isNull()) block = word.block();
  const double top = document()->documentLayout()->blockBoundingRect(block).top();
  // Scrolls a row of a table to one third of the view's height, so that the rows above it, which
  // explain it, stay visible.
  const int above =
      block == heading->second ? Theme::instance().pixels(kGrid) : viewport()->height() / 3;
  verticalScrollBar()->setValue(static_cast<int>(top) - above);
}

void ManualBrowser::highlight_words(const QStringList& words) {
  words_ = words;
  QList<QTextEdit::ExtraSelection> selections;
  const auto mark = [&](const QTextCursor& text, const QColor& background,
                        const QColor& foreground) {
    QTextEdit::ExtraSelection selection;
    selection.cursor = text;
    selection.format.setBackground(background);
    selection.format.setForeground(foreground);
    selections << selection;
  };
  for (const QString& word : words)
    for (QTextCursor at = find_word(word, 0); !at.isNull(); at = find_word(word, at.selectionEnd()))
      mark(at, colors().selection, colors().text);
  if (const auto heading = headings_.find(to_qstring(now_.place.slug)); heading != headings_.end())
    if (const QTextCursor word = find_word(to_qstring(now_.place.word),
                                           heading->second.position() + heading->second.length());
        !word.isNull())
      mark(word, colors().accent, colors().on_accent);
  setExtraSelections(selections);
}

void ManualBrowser::follow(const QUrl& url) {
  if (!url.scheme().isEmpty()) return emit external_link(url);
  const std::string file =
      url.path().isEmpty() ? now_.place.file : resolved(now_.place.file, url.path()).toStdString();
  if (manual_.page(file)) return show_place({file, url.fragment().toStdString(), ""});
  const QString local = QFileInfo(directory_ + "/" + to_qstring(file)).canonicalFilePath();
  if (!local.isEmpty()) emit external_link(QUrl::fromLocalFile(local));
}

QImage ManualBrowser::picture(const QString& name) {
  const QString path = directory_ + "/" + resolved(now_.place.file, name);
  const auto at = pictures_.find(path);
  return at != pictures_.end() ? at->second : pictures_[path] = QImage(path);
}

// Returns a picture scaled to the size in which it is shown, with a thin border. It is scaled here
// because Qt would scale it with lower quality.
QVariant ManualBrowser::loadResource(int type, const QUrl& name) {
  if (type != QTextDocument::ImageResource) return {};
  const QImage full = picture(name.toString());
  if (full.isNull()) return {};
  const double ratio = devicePixelRatioF();
  const int width = std::min(widths().page, full.width());
  // The image is converted, because QPainter cannot paint on an image that has a palette.
  QImage shown = full.convertToFormat(QImage::Format_ARGB32_Premultiplied)
                     .scaledToWidth(qRound(width * ratio), Qt::SmoothTransformation);
  shown.setDevicePixelRatio(ratio);
  QPainter painter(&shown);
  painter.setPen(colors().border);
  painter.drawRect(QRectF(0.5, 0.5, shown.width() / ratio - 1, shown.height() / ratio - 1));
  return shown;
}

void ManualBrowser::changeEvent(QEvent* event) {
  QTextBrowser::changeEvent(event);
  if (event->type() == QEvent::FontChange) delay_timer_.start();
}

void ManualBrowser::keyPressEvent(QKeyEvent* event) {
  if (event->matches(QKeySequence::Back)) return go_back();
  if (event->matches(QKeySequence::Forward)) return go_forward();
  QTextBrowser::keyPressEvent(event);
}

void ManualBrowser::resizeEvent(QResizeEvent* event) {
  QTextBrowser::resizeEvent(event);
  if (event->oldSize().width() != event->size().width()) delay_timer_.start();
}

// Renders the page again for a new width, theme or font. The line of text at the top of the view
// stays at the top.
void ManualBrowser::render_again() {
  const int top = verticalScrollBar()->value() == 0
                      ? -1
                      : cursorForPosition({viewport()->width() / 2, kGrid}).position();
  render();
  if (at_place_) return scroll_to(now_.place);
  if (top < 0) return;
  const QRectF line = document()->documentLayout()->blockBoundingRect(document()->findBlock(top));
  verticalScrollBar()->setValue(static_cast<int>(line.top()));
}

QMimeData* ManualBrowser::createMimeDataFromSelection() const {
  auto* copied = new QMimeData;
  copied->setText(without_breaks(textCursor().selection().toPlainText()));
  return copied;
}

}  // namespace trainyard::ui
