// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/manual/manual_window.h"

#include <QAction>
#include <QDesktopServices>
#include <QKeyEvent>
#include <QLineEdit>
#include <QListWidget>
#include <QPainter>
#include <QRegularExpression>
#include <QScreen>
#include <QScrollBar>
#include <QShortcut>
#include <QSplitter>
#include <QStackedWidget>
#include <QStyledItemDelegate>
#include <QTextLayout>
#include <QToolBar>
#include <QTreeWidget>
#include <QVBoxLayout>
#include <algorithm>

#include "ui/manual/page_document.h"
#include "ui/theme/icons.h"
#include "ui/theme/theme.h"

namespace trainyard::ui {
namespace {

constexpr auto kGeometry = "manual/geometry", kSplit = "manual/split";
constexpr int kSearchMilliseconds = 120;
constexpr QSize kSize(1080, 760);  // size at scale 1
constexpr int kSideCharacters = 38, kSidePercent = 34;
constexpr int kExcerptLines = 3;

constexpr int kFile = Qt::UserRole, kSlug = Qt::UserRole + 1;

QTreeWidgetItem* item_of(QTreeWidgetItem* parent, const QString& title, const std::string& file,
                         const std::string& slug) {
  auto* item = new QTreeWidgetItem(parent, {title});
  item->setData(0, kFile, to_qstring(file));
  item->setData(0, kSlug, to_qstring(slug));
  item->setToolTip(0, title);
  return item;
}

// Returns the first `lines` lines of a text that is wrapped at `width` pixels. If the text has more
// lines, the last returned line ends in an ellipsis.
QString first_lines(const QString& text, const QFont& font, int width, int lines) {
  QTextLayout layout(text, font);
  QStringList shown;
  layout.beginLayout();
  for (QTextLine line = layout.createLine(); line.isValid(); line = layout.createLine()) {
    line.setLineWidth(width);
    if (shown.size() + 1 == lines) {
      const QString rest = text.mid(line.textStart());
      shown << QFontMetrics(font).elidedText(rest, Qt::ElideRight, width);
      break;
    }
    shown << text.mid(line.textStart(), line.textLength());
  }
  layout.endLayout();
  return shown.join('\n');
}

// Paints a result of a search: the title, and below it an excerpt of a few lines.
class HitDelegate : public QStyledItemDelegate {
 public:
  using QStyledItemDelegate::QStyledItemDelegate;

  void paint(QPainter* painter, const QStyleOptionViewItem& option,
             const QModelIndex& index) const override {
    const bool selected = option.state & QStyle::State_Selected;
    painter->save();
    painter->fillRect(option.rect, selected ? colors().selection : QColor(Qt::transparent));
    const QRect area = option.rect.marginsRemoved(margins());
    const QStringList parts = index.data().toString().split('\n');
    const QFont bold = Theme::instance().font(1, true);
    painter->setFont(bold);
    painter->setPen(selected ? colors().accent : colors().text);
    const QFontMetrics title(bold);
    painter->drawText(area, Qt::AlignTop | Qt::AlignLeft,
                      title.elidedText(parts.value(0), Qt::ElideMiddle, area.width()));
    painter->setFont(Theme::instance().font());
    painter->setPen(selected ? colors().text : colors().dim);
    painter->drawText(area.adjusted(0, title.lineSpacing(), 0, 0), Qt::AlignTop | Qt::AlignLeft,
                      excerpt(parts.value(1), area.width()));
    painter->restore();
  }

  QSize sizeHint(const QStyleOptionViewItem& option, const QModelIndex& index) const override {
    const auto* list = qobject_cast<const QListWidget*>(option.widget);
    // The list has a scroll bar only after all sizes are known. Assumes the narrower width.
    const int width = list ? list->width() - 2 * list->frameWidth() -
                                 list->verticalScrollBar()->sizeHint().width()
                           : option.rect.width();
    const QFontMetrics title(Theme::instance().font(1, true)), line(Theme::instance().font());
    const QString text = excerpt(index.data().toString().section('\n', 1),
                                 width - margins().left() - margins().right());
    return {width, title.lineSpacing() + line.size(0, text).height() + margins().top() +
                       margins().bottom()};
  }

 private:
  static QString excerpt(const QString& text, int width) {
    return first_lines(text, Theme::instance().font(), width, kExcerptLines);
  }
  static QMargins margins() {
    const int grid = Theme::instance().pixels(kGrid);
    return {grid / 2, grid * 3 / 4, grid, grid * 3 / 4};
  }
};

}  // namespace

ManualWindow::ManualWindow(const manual::Manual& manual, const QString& directory,
                           QSettings& settings, QWidget* parent)
    : QWidget(parent, Qt::Window),
      manual_(manual),
      settings_(settings),
      bar_(new QToolBar(this)),
      splitter_(new QSplitter(this)),
      browser_(new ManualBrowser(manual, directory, this)) {
  setObjectName("manual");
  setWindowIcon(icon("trainyard"));
  setAttribute(Qt::WA_QuitOnClose, false);
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  column->addWidget(bar_);
  column->addWidget(splitter_, 1);
  splitter_->setChildrenCollapsible(false);
  splitter_->addWidget(build_side());
  splitter_->addWidget(browser_);
  splitter_->setStretchFactor(1, 1);
  build_bar();
  fill_tree();
  add_shortcuts();
  delay_timer_.setSingleShot(true);
  delay_timer_.setInterval(kSearchMilliseconds);
  connect(&delay_timer_, &QTimer::timeout, this, &ManualWindow::search);
  connect(browser_, &ManualBrowser::place_changed, this, &ManualWindow::place_changed);
  connect(browser_, &ManualBrowser::external_link, this,
          [](const QUrl& url) { QDesktopServices::openUrl(url); });
  fit();
  if (!restoreGeometry(settings_.value(kGeometry).toByteArray()))
    resize((kSize * Theme::instance().scale()).boundedTo(screen()->availableSize() * 0.95));
  if (!splitter_->restoreState(settings_.value(kSplit).toByteArray())) {
    const int side =
        std::min(fontMetrics().averageCharWidth() * kSideCharacters, width() * kSidePercent / 100);
    splitter_->setSizes({side, std::max(side, width() - side)});
  }
  browser_->show_place({std::string(manual::kContentsPage), "", ""});
}

ManualWindow::~ManualWindow() {
  settings_.setValue(kGeometry, saveGeometry());
  settings_.setValue(kSplit, splitter_->saveState());
}

void ManualWindow::build_bar() {
  const auto add = [this](const char* name, const QString& title, const QList<QKeySequence>& keys,
                          auto done) {
    QAction* action = bar_->addAction(icon(name), title, this, done);
    action->setShortcuts(keys);
    action->setToolTip(title + " (" + keys.first().toString(QKeySequence::NativeText) + ")");
    return action;
  };
  back_ = add("left", tr("Back"), QKeySequence::keyBindings(QKeySequence::Back),
              [this] { browser_->go_back(); });
  forward_ = add("right", tr("Forward"), QKeySequence::keyBindings(QKeySequence::Forward),
                 [this] { browser_->go_forward(); });
  add("home", tr("Contents"), {QKeySequence("F1"), QKeySequence("Alt+Home")}, [this] {
    show_place({std::string(manual::kContentsPage), "", ""});
  });
}

QWidget* ManualWindow::build_side() {
  auto* side = new QWidget(splitter_);
  auto* column = new QVBoxLayout(side);
  column->setContentsMargins(kGrid, kGrid, 0, 0);
  column->setSpacing(kGrid);
  column->addWidget(search_ = new QLineEdit(side));
  search_->setPlaceholderText(tr("Search (Ctrl+F)"));
  search_->setAccessibleName(tr("Search the manual"));
  search_->setClearButtonEnabled(true);
  search_->installEventFilter(this);
  column->addWidget(lists_ = new QStackedWidget(side), 1);
  lists_->addWidget(tree_ = new QTreeWidget(lists_));
  tree_->setHeaderHidden(true);
  tree_->setUniformRowHeights(true);
  tree_->setFrameShape(QFrame::NoFrame);
  tree_->setAccessibleName(tr("Contents"));
  lists_->addWidget(hits_ = new QListWidget(lists_));
  hits_->setFrameShape(QFrame::NoFrame);
  hits_->setItemDelegate(new HitDelegate(hits_));
  hits_->setResizeMode(QListView::Adjust);
  hits_->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  hits_->setVerticalScrollMode(QAbstractItemView::ScrollPerPixel);
  hits_->setAccessibleName(tr("Search results"));
  nothing_ = paragraph(TextColor::dim, lists_);
  nothing_->setAlignment(Qt::AlignTop | Qt::AlignLeft);
  nothing_->setContentsMargins(kGrid / 2, kGrid, kGrid, kGrid);
  lists_->addWidget(nothing_);
  connect(search_, &QLineEdit::textChanged, this, [this](const QString& words) {
    if (words.trimmed().isEmpty()) search();
    else delay_timer_.start();
  });
  connect(search_, &QLineEdit::returnPressed, this, [this] {
    if (delay_timer_.isActive()) search();
    open_hit(std::max(0, hits_->currentRow()));
  });
  connect(hits_, &QListWidget::currentRowChanged, this, &ManualWindow::open_hit);
  connect(tree_, &QTreeWidget::currentItemChanged, this, [this](QTreeWidgetItem* item) {
    if (!item || item->data(0, kFile).isNull()) return;
    browser_->show_place({item->data(0, kFile).toString().toStdString(),
                          item->data(0, kSlug).toString().toStdString(), ""});
  });
  return side;
}

void ManualWindow::fill_tree() {
  const QSignalBlocker quiet(tree_);
  item_of(tree_->invisibleRootItem(), tr("Contents"), std::string(manual::kContentsPage), "");
  for (const manual::ContentsGroup& group : manual_.contents()) {
    auto* heading = new QTreeWidgetItem(tree_, {to_qstring(group.title)});
    heading->setFlags(Qt::ItemIsEnabled);
    for (const std::string& file : group.files) {
      const manual::Page& page = *manual_.page(file);
      QTreeWidgetItem* item = item_of(heading, to_qstring(page.title), file, "");
      for (const manual::Section& section : page.sections)
        if (section.level == 2) item_of(item, to_qstring(section.title), file, section.slug);
    }
    heading->setExpanded(true);
  }
}

void ManualWindow::add_shortcuts() {
  const auto on = [this](const QKeySequence& keys, auto done) {
    connect(new QShortcut(keys, this), &QShortcut::activated, this, done);
  };
  on(QKeySequence::Find, [this] { search_->setFocus(), search_->selectAll(); });
  on(QKeySequence(Qt::Key_Escape), [this] { leave(); });
}

// Handles Esc: ends a search if there is one, otherwise closes the window.
void ManualWindow::leave() {
  if (search_->text().isEmpty()) return void(close());
  search_->clear();
  browser_->highlight_words({});
  browser_->setFocus();
}

// The arrow keys move from the search field to the results.
bool ManualWindow::eventFilter(QObject* watched, QEvent* event) {
  if (watched == search_ && event->type() == QEvent::KeyPress) {
    const int key = static_cast<QKeyEvent*>(event)->key();
    QListWidget& list = *hits_;
    if ((key == Qt::Key_Down || key == Qt::Key_Up) && list.count() > 0) {
      const int step = key == Qt::Key_Down ? 1 : -1;
      list.setCurrentRow(std::clamp(list.currentRow() + step, 0, list.count() - 1));
      return true;
    }
  }
  return QWidget::eventFilter(watched, event);
}

void ManualWindow::changeEvent(QEvent* event) {
  QWidget::changeEvent(event);
  if (event->type() == QEvent::FontChange) fit();
}

void ManualWindow::fit() {
  const int size = Theme::instance().pixels(20);
  bar_->setIconSize({size, size});
  tree_->setFont(Theme::instance().font());
  for (int i = 0; i < tree_->topLevelItemCount(); ++i)
    if (tree_->topLevelItem(i)->childCount() > 0)
      tree_->topLevelItem(i)->setFont(0, Theme::instance().font(1, true));
}

void ManualWindow::search() {
  delay_timer_.stop();
  const QSignalBlocker quiet(hits_);
  hits_->clear();
  const QString words = search_->text().trimmed();
  found_ = manual_.search(words.toStdString());
  for (const manual::SearchHit& hit : found_) {
    const bool is_page = hit.section == hit.page;
    auto* item = new QListWidgetItem(
        (is_page ? to_qstring(hit.page)
                 : tr("%1: %2").arg(to_qstring(hit.page), to_qstring(hit.section))) +
            "\n" + to_qstring(hit.excerpt),
        hits_);
    item->setToolTip(to_qstring(manual::to_string(hit.place)));
  }
  hits_->setCurrentRow(-1);
  nothing_->setText(tr("No section contains “%1”.\nTry fewer or shorter words.").arg(words));
  lists_->setCurrentIndex(words.isEmpty() ? 0 : found_.empty() ? 2 : 1);
}

void ManualWindow::open_hit(int row) {
  if (row < 0 || row >= static_cast<int>(found_.size())) return;
  browser_->show_place(found_[static_cast<std::size_t>(row)].place);
  static const QRegularExpression separators(R"([\s_]+)");
  browser_->highlight_words(search_->text().split(separators, Qt::SkipEmptyParts));
}

void ManualWindow::show_place(const manual::ManualLocation& place) {
  browser_->show_place(place);
  show();
  raise();
  activateWindow();
  browser_->setFocus();
}

// Selects the shown page in the contents.
void ManualWindow::place_changed() {
  back_->setEnabled(browser_->can_go_back());
  forward_->setEnabled(browser_->can_go_forward());
  const bool is_index = browser_->place().file == manual::kContentsPage;
  setWindowTitle(is_index ? browser_->page_title()
                          : tr("%1 — Trainyard manual").arg(browser_->page_title()));
  const QString file = to_qstring(browser_->place().file),
                slug = to_qstring(browser_->place().slug);
  QTreeWidgetItem* best = nullptr;
  for (QTreeWidgetItemIterator at(tree_); *at; ++at) {
    if ((*at)->data(0, kFile).toString() != file) continue;
    if (!best || (!slug.isEmpty() && (*at)->data(0, kSlug).toString() == slug)) best = *at;
  }
  const QSignalBlocker quiet(tree_);
  tree_->setCurrentItem(best);
  if (best) tree_->scrollToItem(best);
}

}  // namespace trainyard::ui
